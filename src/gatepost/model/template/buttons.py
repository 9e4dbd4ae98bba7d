"""The rules of a new template's buttons: their number, order and fields."""

from typing import Any

from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import place, read_list, read_object, read_text, read_url
from gatepost.model.limits import limit
from gatepost.model.template.examples import read_one_example
from gatepost.model.template.values import word
from gatepost.model.template.variables import fill, variables_of

_COUNTED = {
    "QUICK_REPLY": "template.quick_replies",
    "URL": "template.urls",
    "PHONE_NUMBER": "template.phones",
    "COPY_CODE": "template.copy_codes",
}
_FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # button → required and optional fields
    "QUICK_REPLY": (("text",), ()),
    "URL": (("text", "url"), ("example",)),
    "PHONE_NUMBER": (("text", "phone_number"), ()),
    "COPY_CODE": (("example",), ("text",)),
    "FLOW": (("text",), ("flow_id", "flow_name", "flow_json", "flow_action", "navigate_screen", "icon")),
    "OTP": (
        ("otp_type",),
        ("text", "autofill_text", "supported_apps", "zero_tap_terms_accepted", "package_name", "signature_hash"),
    ),
    "CATALOG": (("text",), ()),
    "MPM": (("text",), ()),
    "SPM": (("text",), ()),
    "VOICE_CALL": (("text",), ("ttl_minutes",)),
    "APP": (("text",), ("app_deep_link",)),
    "CALL_PERMISSION_REQUEST": ((), ("text",)),
    "REQUEST_CONTACT_INFO": ((), ("text",)),
}


def check_buttons(path: str, value: Any, name: str = "template.buttons") -> list[dict[str, Any]]:
    """Check a list of buttons; return them with their types in uppercase."""
    row = read_list(path, value, name)
    buttons = [_check_button(f"{path}[{i}]", button) for i, button in enumerate(row)]
    kinds = [button["type"] for button in buttons]
    for kind, most in _COUNTED.items():
        if not limit(most).fits(kinds.count(kind)):
            raise invalid_field(path, f"may have {limit(most).words()} of type {kind}, but has {kinds.count(kind)}")
    _check_order(path, kinds)
    return buttons


def _check_order(path: str, kinds: list[str]) -> None:
    """Reject quick replies that are not together, before or after all others."""
    turns = sum(a != b for a, b in zip(*_pairs([kind == "QUICK_REPLY" for kind in kinds]), strict=True))
    if turns > 1:
        raise invalid_field(path, "has quick replies between other buttons; put all quick replies first or last")


def _pairs(row: list[bool]) -> tuple[list[bool], list[bool]]:
    return row[:-1], row[1:]


def _check_button(path: str, value: Any) -> dict[str, Any]:
    kind = word(value.get("type")) if isinstance(value, dict) else ""
    if kind not in _FIELDS:
        raise invalid_field(place(path, "type"), f"must be one of {', '.join(_FIELDS)}")
    required, optional = _FIELDS[kind]
    button = read_object(path, value, ("type", *required), optional)
    if "text" in button:
        _check_text(place(path, "text"), button["text"])
    if kind == "URL":
        _check_url(path, button)
    elif kind == "PHONE_NUMBER":
        read_text(place(path, "phone_number"), button["phone_number"], "template.phone")
    elif kind == "COPY_CODE":
        read_one_example(place(path, "example"), button["example"], "template.copy_code")
    return button | {"type": kind}


def _check_text(path: str, value: Any) -> None:
    text = read_text(path, value, "template.button_text")
    if variables_of(text) or "\n" in text:
        raise invalid_field(path, "must be plain text on one line, without variables")


def _check_url(path: str, button: dict[str, Any]) -> None:
    where = place(path, "url")
    url = read_text(where, button["url"], "template.url")
    names = variables_of(url)
    read_url(where, fill(url, dict.fromkeys(names, "x")), "template.url")
    if not names:
        return
    if len(names) > 1 or url.count("{{") > 1:
        raise invalid_field(where, "may have one variable only")
    if not url.endswith("}}"):
        raise invalid_field(where, "may have a variable only at its end, e.g. https://shop.example.com/orders/{{1}}")
    if button.get("example") is None:
        raise invalid_field(place(path, "example"), "is required: an address with the variable filled in")
    read_one_example(place(path, "example"), button["example"], "template.url")
