"""The content of a template message: the template's name and the values. `template.check_use` checks that they fit."""

from typing import Any

from gatepost.model.content.parts import read_file, read_location, read_product
from gatepost.model.content.raw_components import read_raw_components
from gatepost.model.content.references import MessageReferences
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_unlike, place, plain, read_choice, read_object, read_text, read_texts
from gatepost.model.limits import limit, maximum
from gatepost.model.problem_collector import ProblemCollector, read_each
from gatepost.model.template.values import TemplateUse

_EASY = ("variables", "header", "buttons")
_GIFTS = {
    "payload": "template.payload",
    "text": "template.url",
    "code": "template.copy_code",
    "flow_token": "template.flow_token",
}
_FILES = ("image", "video", "document", "gif")


def read_template(given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    """Read the use of a template, with variables or with raw components."""
    wish = read_object("template", given["template"], ("name", "language"), (*_EASY, "components"))
    if "components" in wish and any(name in wish for name in _EASY):
        raise invalid_field("template.components", "goes without variables, header and buttons: it already holds them")
    problems = ProblemCollector()
    names = {"name": "template.name", "language": "template.language"}
    content: dict[str, Any] = problems.read(read_texts, "template", wish, names) or {}
    if "variables" in wish:
        content["variables"] = problems.read(_variables, "template.variables", wish["variables"])
    if "header" in wish:
        content["header"] = problems.read(_header, "template.header", wish["header"], found)
    if "buttons" in wish:
        content["buttons"] = problems.read(_buttons, "template.buttons", wish["buttons"])
    if "components" in wish:
        content["components"] = problems.read(read_raw_components, "template.components", wish["components"], found)
    problems.check()
    found.template = _use(content)
    return {"template": content}


def _use(content: dict[str, Any]) -> TemplateUse:
    variables = content.get("variables")
    return TemplateUse(
        name=content["name"],
        language=content["language"],
        variables=tuple(variables) if isinstance(variables, list) else variables,
        header=content.get("header"),
        buttons=tuple(content.get("buttons", ())),
        components=content.get("components"),
    )


def _variables(path: str, value: Any) -> list[str] | dict[str, str]:
    if isinstance(value, list | tuple):
        return read_each(path, value, read_text, name="template.variable")
    if not isinstance(value, dict):
        raise invalid_field(path, 'must be a list such as ["Anna", "1001"] or an object such as {"name": "Anna"}')
    for name in value:
        read_text(place(path, plain(name)), name, "template.variable_name")
    return read_texts(path, value, dict.fromkeys(value, "template.variable"))


def _header(path: str, value: Any, found: MessageReferences) -> str | dict[str, Any]:
    if isinstance(value, str):
        return read_text(path, value, "template.variable")
    if isinstance(value, dict) and "type" not in value:
        return _named_header(path, value)
    fields = ("text", "media", "filename", "location", "product")
    kind = read_choice(
        place(path, "type"),
        read_object(path, value, ("type",), fields)["type"],
        ("text", *_FILES, "location", "product"),
    )
    if kind in _FILES:
        given = read_object(path, value, ("type", "media"), ("filename",) if kind == "document" else ())
        return {"type": kind} | read_file(path, given, found)
    if kind == "location":
        given = read_object(path, value, ("type", "location"))
        return {"type": kind, "location": read_location(place(path, "location"), given["location"])}
    if kind == "product":
        given = read_object(path, value, ("type", "product"))
        return {"type": kind, "product": read_product(place(path, "product"), given["product"])}
    given = read_object(path, value, ("type", "text"))
    return {"type": kind, "text": read_text(place(path, "text"), given["text"], "template.variable")}


def _named_header(path: str, value: dict[str, Any]) -> dict[str, str]:
    """Read the header's only variable by its name, such as {"sale": "Summer"}."""
    if len(value) != 1:
        raise invalid_field(path, 'must be text, {"type": …} or the one variable by its name, e.g. {"sale": "Summer"}')
    ((name, text),) = value.items()
    read_text(place(path, plain(name)), name, "template.variable_name")
    return {name: read_text(place(path, name), text, "template.variable")}


def _buttons(path: str, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list | tuple) or not limit("template.buttons").fits(len(value)):
        raise invalid_field(path, f"must be a list of {limit('template.buttons').words()}")
    rows = read_each(path, value, _button)
    check_unlike([(f"{path}[{i}].index", str(row["index"])) for i, row in enumerate(rows)], "button")
    return rows


def _button(path: str, value: Any) -> dict[str, Any]:
    given = read_object(path, value, ("index",), tuple(_GIFTS))
    index, gifts = given.pop("index"), given
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < maximum("template.buttons"):
        raise invalid_field(place(path, "index"), "must be the position of the button in the template, counted from 0")
    if len(gifts) != 1:
        raise invalid_field(path, f"needs index and one of {', '.join(_GIFTS)}")
    ((name, text),) = gifts.items()
    return {"index": index, name: read_text(place(path, name), text, _GIFTS[name])}
