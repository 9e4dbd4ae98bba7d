"""The network's rules for a new template, checked before it is submitted.

name, language, category, ttl
components ─► HEADER?  BODY  FOOTER?  BUTTONS?          plain
              BODY  FOOTER?  BUTTONS (one OTP)          AUTHENTICATION
              HEADER?  LIMITED_TIME_OFFER  BODY  BUTTONS
              BODY  CAROUSEL (2 to 10 cards)
"""

from typing import Any

from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import place, read_choice, read_number, read_object, read_text
from gatepost.model.problem_collector import ProblemCollector, read_each
from gatepost.model.template import parts, special
from gatepost.model.template.buttons import check_buttons
from gatepost.model.template.values import CATEGORIES, NewTemplate, Template, buttons_of, word

_TYPES = ("HEADER", "BODY", "FOOTER", "BUTTONS", "LIMITED_TIME_OFFER", "CAROUSEL")
_FORMATS = ("POSITIONAL", "NAMED")
_MAY = {  # the components that each kind of template may have
    "AUTHENTICATION": ("BODY", "FOOTER", "BUTTONS"),
    "CAROUSEL": ("BODY", "CAROUSEL"),
    "LIMITED_TIME_OFFER": ("HEADER", "BODY", "BUTTONS", "LIMITED_TIME_OFFER"),
    "PLAIN": ("HEADER", "BODY", "FOOTER", "BUTTONS"),
}


def check_new_template(new: NewTemplate) -> Template:
    """Return the template that the network would create, or raise an error that names every violation."""
    problems, ttl = ProblemCollector(), new.message_send_ttl_seconds
    problems.read(read_text, "name", new.name, "template.name")
    problems.read(read_text, "language", new.language, "template.language")
    category = problems.read(read_choice, "category", word(new.category), CATEGORIES)
    format_ = problems.read(read_choice, "parameter_format", word(new.parameter_format), _FORMATS)
    if category and ttl is not None and ttl != -1:
        problems.read(read_number, "message_send_ttl_seconds", ttl, f"template.ttl_{category.lower()}")
    components = problems.read(_check_components, new.components, category or CATEGORIES[0], named=format_ == "NAMED")
    problems.check()
    assert category
    assert format_
    assert components
    return Template(
        name=new.name,
        language=new.language,
        category=category,
        components=components,
        parameter_format=format_,
        message_send_ttl_seconds=new.message_send_ttl_seconds,
    )


def _check_components(value: Any, category: str, *, named: bool) -> list[dict[str, Any]]:
    given = parts.read_components("components", value)
    kinds = read_each("components", given, _kind)
    make = _make_of(kinds, category)
    for i, kind in enumerate(kinds):
        if kind not in _MAY[make]:
            raise invalid_field(f"components[{i}].type", f"{kind} is not allowed in a template of the kind {make}")
        if kind in kinds[:i]:
            raise invalid_field(f"components[{i}].type", f"{kind} is given twice; a template may have one of each")
    if "BODY" not in kinds:
        raise invalid_field("components", "needs a component of type BODY")
    problems = ProblemCollector()
    checked = [
        problems.read(_check, f"components[{i}]", kind, component, make, named=named) or {}
        for i, (kind, component) in enumerate(zip(kinds, given, strict=True))
    ]
    problems.check()
    _check_together(checked, make)
    return checked


def _kind(path: str, component: Any) -> str:
    if not isinstance(component, dict):
        raise invalid_field(path, "must be an object with type")
    return read_choice(place(path, "type"), word(component.get("type")), _TYPES)


def _make_of(kinds: list[str], category: str) -> str:
    if category == "AUTHENTICATION":
        return category
    make = next((kind for kind in ("CAROUSEL", "LIMITED_TIME_OFFER") if kind in kinds), "PLAIN")
    if make != "PLAIN" and category != "MARKETING":
        raise invalid_field("category", f"must be MARKETING for a template with {make}")
    return make


def _check(path: str, kind: str, value: Any, make: str, *, named: bool) -> dict[str, Any]:
    code, offer = make == "AUTHENTICATION", make == "LIMITED_TIME_OFFER"
    if kind == "HEADER":
        part = parts.check_header(path, value, parts.OFFER_HEADERS if offer else parts.HEADERS, named=named)
    elif kind == "BODY" and code:
        part = special.check_code_body(path, value)
    elif kind == "BODY":
        part = parts.check_body(path, value, "template.offer_body" if offer else "template.body", named=named)
    elif kind == "FOOTER":
        part = special.check_code_footer(path, value) if code else parts.check_footer(path, value)
    elif kind == "BUTTONS":
        part = read_object(path, value, ("type", "buttons"))
        part["buttons"] = check_buttons(place(path, "buttons"), part["buttons"])
    elif kind == "LIMITED_TIME_OFFER":
        part = special.check_offer(path, value)
    else:
        part = special.check_carousel(path, value, named=named)
    return part | {"type": kind}


def _check_together(components: list[dict[str, Any]], make: str) -> None:
    """Check the rules that concern several components."""
    path = next((f"components[{i}].buttons" for i, part in enumerate(components) if part["type"] == "BUTTONS"), "")
    buttons = buttons_of(components)
    if make == "AUTHENTICATION":
        if not path:
            raise invalid_field("components", "needs a component of type BUTTONS with one OTP button")
        special.check_code_buttons(path, buttons)
        return
    if any(button["type"] == "OTP" for button in buttons):
        raise invalid_field(path, "may have an OTP button only in the category AUTHENTICATION")
