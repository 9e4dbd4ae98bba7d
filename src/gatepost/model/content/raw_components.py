"""Raw components of a template, in the network's format. Checks their structure and collects their files."""

from typing import Any

from gatepost.model.content.fields import MessageReferences
from gatepost.model.content.parts import read_media_id
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_storable_all, place, read_choice, read_list, read_url
from gatepost.model.limits import limit, maximum
from gatepost.model.template.variables import check_value

_TYPES = ("header", "body", "button", "limited_time_offer", "carousel")
_FILES = ("image", "video", "document", "gif")


def read_raw_components(path: str, value: Any, found: MessageReferences) -> list[dict[str, Any]]:
    """Return the components unchanged, except for our ids of files, which get their canonical form."""
    check_storable_all(path, value, maximum("template.depth"))
    return _components(path, value, found, inner=False)


def _components(path: str, value: Any, found: MessageReferences, *, inner: bool) -> list[dict[str, Any]]:
    if not isinstance(value, list | tuple):
        raise invalid_field(path, "must be a list of components")
    rows = [_component(f"{path}[{i}]", row, found, inner=inner) for i, row in enumerate(value)]
    kinds = [row["type"].lower() for row in rows]
    for i, kind in enumerate(kinds):
        if kind != "button" and kind in kinds[:i]:
            raise invalid_field(f"{path}[{i}].type", f"{kind} is there twice")
    places = [int(row["index"]) for row in rows if row["type"].lower() == "button"]
    if len(set(places)) != len(places):
        raise invalid_field(path, "has two components for the same button")
    return rows


def _component(path: str, value: Any, found: MessageReferences, *, inner: bool) -> dict[str, Any]:
    component = _outline(path, value)
    types = _TYPES[:3] if inner else _TYPES
    kind = read_choice(place(path, "type"), component["type"].lower(), types)
    if kind == "carousel":
        cards = read_list(place(path, "cards"), component.get("cards"), "template.cards")
        return component | {"cards": [_card(f"{path}.cards[{i}]", card, found) for i, card in enumerate(cards)]}
    if kind == "button":
        _check_index(place(path, "index"), component.get("index"))
        if not isinstance(component.get("sub_type"), str):
            raise invalid_field(place(path, "sub_type"), "is required, e.g. quick_reply, url or copy_code")
    rows = component.get("parameters")
    if rows is None:
        return component
    if not isinstance(rows, list):
        raise invalid_field(place(path, "parameters"), "must be a list of parameters")
    read = [_parameter(f"{path}.parameters[{i}]", row, found) for i, row in enumerate(rows)]
    for i, row in enumerate(read):
        if kind != "button" and row["type"].lower() == "text":
            _check_text(f"{path}.parameters[{i}].text", row["text"], kind)
    return component | {"parameters": read}


def _check_text(path: str, text: str, kind: str) -> None:
    """Check the value of a variable, as it would be checked outside of raw components."""
    row = limit("template.header_value" if kind == "header" else "template.variable")
    if not row.fits(len(text)):
        raise invalid_field(path, f"may have {row.words()}, but has {len(text):,}")
    check_value(path, text)


def _outline(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise invalid_field(path, "must be an object with type")
    return value


def _card(path: str, value: Any, found: MessageReferences) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid_field(path, "must be an object with card_index and components")
    where = place(path, "components")
    return value | {"components": _components(where, value.get("components"), found, inner=True)}


def _check_index(path: str, value: Any) -> None:
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not (text.isascii() and text.isdecimal()) or len(text) > 2 or not int(text) < maximum("template.buttons"):
        raise invalid_field(path, "must be the position of the button in the template, counted from 0")


def _parameter(path: str, value: Any, found: MessageReferences) -> dict[str, Any]:
    parameter = _outline(path, value)
    kind, name = parameter["type"].lower(), parameter.get("parameter_name")
    if name is not None and not (isinstance(name, str) and limit("template.variable_name").fits(len(name))):
        raise invalid_field(place(path, "parameter_name"), "must be the name of a variable")
    if kind == "text" and not isinstance(parameter.get("text"), str):
        raise invalid_field(place(path, "text"), "must be a string")
    if kind not in _FILES:
        return parameter
    return parameter | {kind: _file(place(path, kind), parameter.get(kind), found)}


def _file(path: str, value: Any, found: MessageReferences) -> dict[str, Any]:
    """Read a file by its link, by our id, or by the network's own id, which cannot be checked."""
    if not isinstance(value, dict) or ("id" in value) == ("link" in value):
        raise invalid_field(path, "needs either id or link")
    if "link" in value:
        found.links.append(read_url(place(path, "link"), value["link"], "media.link"))
        return value
    if isinstance(value["id"], str) and value["id"].startswith("med_"):
        return value | {"id": read_media_id(place(path, "id"), value["id"], found)}
    return value
