"""A template message: its variables, header and buttons as the components that the network takes.

    variables   ["Ana", "12"]          {{1}}, {{2}}, in their order
                {"name": "Ana"}        {{name}}, by parameter_name
    header      "Ana", ["Ana"] or {"name": "Ana"} for its one variable, in the same two ways
                {"type": "image", "media": {…}}, video, document or gif alike
                {"type": "location", "location": {…}}, {"type": "product", "product": {…}}
    buttons     {"index": 0, "payload" | "text" | "code" | "flow_token": "…"}

A template that gives `components` wrote them itself; only our own files in them get the network's names.
"""

from collections.abc import Callable
from typing import Any

Part = dict[str, Any]
FileRef = Callable[[dict[str, str]], dict[str, str]]
_FILES = frozenset({"image", "video", "document", "gif"})
_OURS = "med_"


def template_payload(template: Part, file_ref: FileRef) -> Part:
    """The sub-object of a template send."""
    written: Part = {"name": template["name"], "language": {"code": template["language"]}}
    raw = template.get("components")
    components = _named(raw, file_ref) if raw else _components(template, file_ref)
    return written | {"components": components} if components else written


def _components(template: Part, file_ref: FileRef) -> list[Part]:
    components: list[Part] = []
    if template.get("header"):
        components.append({"type": "header", "parameters": _header(template["header"], file_ref)})
    if template.get("variables"):
        components.append({"type": "body", "parameters": _texts(template["variables"])})
    return components + [_button(button) for button in template.get("buttons") or ()]


def _named(value: Any, file_ref: FileRef) -> Any:
    if isinstance(value, list):
        return [_named(inner, file_ref) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        key: inner | file_ref(inner) if key in _FILES and _is_ours(inner) else _named(inner, file_ref)
        for key, inner in value.items()
    }


def _is_ours(file: Any) -> bool:
    return isinstance(file, dict) and isinstance(file.get("id"), str) and file["id"].startswith(_OURS)


def _texts(variables: Any) -> list[Part]:
    if isinstance(variables, dict):
        return [{"type": "text", "parameter_name": name, "text": str(value)} for name, value in variables.items()]
    return [{"type": "text", "text": str(value)} for value in variables]


def _header(header: Any, file_ref: FileRef) -> list[Part]:
    if isinstance(header, str):
        return _texts([header])
    kind = header.get("type") if isinstance(header, dict) else None
    if kind in _FILES and "media" in header:
        filename = {"filename": header["filename"]} if header.get("filename") else {}
        return [{"type": kind, kind: file_ref(header["media"]) | filename}]
    if kind == "location" and "location" in header:
        return [{"type": kind, kind: header["location"]}]
    if kind == "product" and "product" in header:
        return [{"type": kind, kind: _product(header["product"])}]
    if kind == "text" and "text" in header:
        return _texts([header["text"]])
    return _texts(header)


def _product(product: Part) -> Part:
    return {"product_retailer_id": product["retailer_id"], "catalog_id": product["catalog_id"]}


def _button(button: Part) -> Part:
    sub_type, parameter = _parameter(button)
    return {"type": "button", "sub_type": sub_type, "index": str(button["index"]), "parameters": [parameter]}


def _parameter(button: Part) -> tuple[str, Part]:
    if "payload" in button:
        return "quick_reply", {"type": "payload", "payload": button["payload"]}
    if "text" in button:
        return "url", {"type": "text", "text": button["text"]}
    if "code" in button:
        return "copy_code", {"type": "coupon_code", "coupon_code": button["code"]}
    return "flow", {"type": "action", "action": {"flow_token": button["flow_token"]}}
