"""A template as the person sees it: its texts filled in, its files, buttons, cards and offer."""

from collections.abc import Callable
from typing import Any

from gatepost_sandbox.messages.template.shape import button_index
from gatepost_sandbox.messages.template.variables import fill, find_parameters, words_of
from gatepost_sandbox.templates.template import Template

ShowMedia = Callable[[str, dict[str, Any]], dict[str, Any]]
Components = list[dict[str, Any]]

# Type of a stored button: the kind of the shown button.
_KINDS = {
    "QUICK_REPLY": "quick_reply",
    "URL": "url",
    "OTP": "copy_code",
    "PHONE_NUMBER": "call",
    "VOICE_CALL": "call",
    "COPY_CODE": "copy_code",
    "FLOW": "flow",
    "CATALOG": "catalog",
    "REQUEST_CONTACT_INFO": "request_contact",
}
_TITLES = {"COPY_CODE": "Copy code", "CATALOG": "View catalog", "MPM": "View items", "SPM": "View", "OTP": "Copy code"}


def template_view(content: dict[str, Any], template: Template, show_media: ShowMedia) -> dict[str, Any]:
    """Return what the person sees of a template message."""
    return _view(template.components, content.get("components") or [], show_media)


def _view(stored: Components, sent: Components, show_media: ShowMedia) -> dict[str, Any]:
    parts = {part["type"].upper(): part for part in stored}
    view: dict[str, Any] = {}
    if "HEADER" in parts:
        view |= _header(parts["HEADER"], find_parameters(sent, "header"), show_media)
    if "BODY" in parts:
        view["text"] = fill(str(parts["BODY"].get("text", "")), find_parameters(sent, "body"))
    if "FOOTER" in parts:
        view["footer"] = str(parts["FOOTER"].get("text", ""))
    if "LIMITED_TIME_OFFER" in parts:
        view["offer"] = _offer(parts["LIMITED_TIME_OFFER"], find_parameters(sent, "limited_time_offer"))
    if "BUTTONS" in parts:
        view |= _buttons(parts["BUTTONS"]["buttons"], sent)
    if "CAROUSEL" in parts:
        view["cards"] = _cards(parts["CAROUSEL"]["cards"], sent, show_media)
    return view


def _header(part: dict[str, Any], parameters: Components, show_media: ShowMedia) -> dict[str, Any]:
    kind = str(part.get("format", "TEXT")).lower()
    if kind == "text":
        return {"header": {"text": fill(str(part.get("text", "")), parameters)}}
    given = parameters[0].get(kind, {}) if parameters else {}
    if kind == "location":
        place = {name: given.get(name) for name in ("name", "address")}
        return {"location": {"latitude": float(given["latitude"]), "longitude": float(given["longitude"]), **place}}
    if kind == "product":
        items = [{"id": given["product_retailer_id"]}]
        return {"products": {"catalog_id": given.get("catalog_id"), "sections": [{"title": "", "items": items}]}}
    return {"header": {"media": show_media(kind, given)}}


def _offer(part: dict[str, Any], parameters: Components) -> dict[str, Any]:
    ends = parameters[0]["limited_time_offer"].get("expiration_time_ms") if parameters else None
    text = part.get("limited_time_offer", {}).get("text", "")
    return {"text": text, "expires_at": None if ends is None else int(ends) // 1000}


def _buttons(stored: Components, sent: Components) -> dict[str, Any]:
    given = {button_index(part): part for part in sent if part["type"].lower() == "button"}
    view: dict[str, Any] = {"buttons": []}
    for index, button in enumerate(stored):
        parameters = given.get(index, {}).get("parameters") or []
        parameter = parameters[0] if parameters else {}
        view["buttons"].append(_button(button, parameter, index))
        action = parameter.get("action") or {}
        if "sections" in action:
            view["products"] = {"catalog_id": action.get("catalog_id"), "sections": _sections(action["sections"])}
    return view


def _button(button: dict[str, Any], parameter: dict[str, Any], index: int) -> dict[str, Any]:
    sort = str(button["type"]).upper()
    kind, text = _KINDS.get(sort, "other"), button.get("text") or _TITLES.get(sort, "Continue")
    shown = {"id": parameter.get("payload", text) if kind == "quick_reply" else str(index), "title": text, "kind": kind}
    value = _value(sort, button, parameter)
    if sort == "URL" and "/otp/code/" in str(button.get("url")):
        shown["kind"], value = "copy_code", parameter.get("text")
    return shown if value is None else {**shown, "value": value}


def _value(sort: str, button: dict[str, Any], parameter: dict[str, Any]) -> str | None:
    if sort == "URL":
        return fill(str(button["url"]), [parameter] if parameter else [])
    if sort == "PHONE_NUMBER":
        return str(button["phone_number"])
    if sort == "COPY_CODE":
        return str(parameter.get("coupon_code", ""))
    if sort == "OTP":
        return words_of(parameter) if parameter else None
    if sort == "FLOW":
        return str(button.get("flow_id") or button.get("flow_name") or "")
    return None


def _sections(sections: Components) -> Components:
    return [
        {"title": section["title"], "items": [{"id": item["product_retailer_id"]} for item in section["product_items"]]}
        for section in sections
    ]


def _cards(stored: Components, sent: Components, show_media: ShowMedia) -> Components:
    given = [card for part in sent if part["type"].lower() == "carousel" for card in part["cards"]]
    components = {int(card["card_index"]): card.get("components") or [] for card in given}
    return [_view(card["components"], components.get(place, []), show_media) for place, card in enumerate(stored)]
