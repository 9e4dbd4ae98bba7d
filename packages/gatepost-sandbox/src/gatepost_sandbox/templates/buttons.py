"""The buttons of a template: their required fields, number and order."""

from collections import Counter
from collections.abc import Callable
from itertools import groupby
from typing import Any

from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.templates.problems import lacking, too_long, wrong
from gatepost_sandbox.templates.variables import names_in

TEXT_MAX, URL_MAX, PHONE_MAX, CODE_MAX = 25, 2000, 20, 15
IN_ALL = 10
MOST = {"QUICK_REPLY": 10, "URL": 2, "PHONE_NUMBER": 1, "COPY_CODE": 1, "FLOW": 1, "CATALOG": 1, "MPM": 1, "SPM": 1}


def check_text(button: dict[str, Any]) -> Refusal | None:
    """Check the label."""
    text = button.get("text")
    if not isinstance(text, str) or not text.strip():
        return lacking("BUTTONS", "text")
    if len(text) > TEXT_MAX:
        return too_long("The text of a button", TEXT_MAX)
    return wrong("The text of a button has no variables and no line breaks.") if "{{" in text or "\n" in text else None


def check_url(button: dict[str, Any]) -> Refusal | None:
    """Check a link, fixed or with one variable at its end."""
    url = button.get("url")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return lacking("BUTTONS", "url")
    if len(url) > URL_MAX:
        return too_long("The url of a button", URL_MAX)
    names = names_in(url)
    if names and (len(names) > 1 or url.count("{{") > 1 or not url.endswith("}}")):
        return wrong("The url of a button may have one variable, at its end.")
    if names and not button.get("example"):
        return lacking("BUTTONS", "example")
    return check_text(button)


def check_phone(button: dict[str, Any]) -> Refusal | None:
    """Check a number to call."""
    phone = button.get("phone_number")
    if not isinstance(phone, str) or not phone:
        return lacking("BUTTONS", "phone_number")
    return too_long("The phone number of a button", PHONE_MAX) if len(phone) > PHONE_MAX else check_text(button)


def check_code(button: dict[str, Any]) -> Refusal | None:
    """Check a code to copy."""
    example = button.get("example")
    example = example[0] if isinstance(example, list) and example else example
    if not isinstance(example, str) or not example:
        return lacking("BUTTONS", "example")
    return too_long("The code of a button", CODE_MAX) if len(example) > CODE_MAX else None


def check_flow(button: dict[str, Any]) -> Refusal | None:
    """Check a flow to open."""
    if not any(button.get(name) for name in ("flow_id", "flow_name", "flow_json")):
        return lacking("BUTTONS", "flow_id")
    return check_text(button)


def _nothing(_: dict[str, Any]) -> Refusal | None:
    return None


KINDS: dict[str, Callable[[dict[str, Any]], Refusal | None]] = {
    "QUICK_REPLY": check_text,
    "URL": check_url,
    "PHONE_NUMBER": check_phone,
    "COPY_CODE": check_code,
    "FLOW": check_flow,
    "CATALOG": _nothing,
    "MPM": _nothing,
    "SPM": _nothing,
    "VOICE_CALL": _nothing,
    "APP": check_text,
    "CALL_PERMISSION_REQUEST": _nothing,
    "REQUEST_CONTACT_INFO": _nothing,
}


def check_buttons(part: dict[str, Any]) -> Refusal | None:
    """Check all buttons together."""
    buttons = part.get("buttons")
    if not isinstance(buttons, list) or not buttons or not all(isinstance(button, dict) for button in buttons):
        return lacking("BUTTONS", "buttons")
    kinds = [button.get("type") for button in buttons]
    strange = [kind for kind in kinds if not isinstance(kind, str) or kind not in KINDS]
    if strange:
        return wrong(f"{strange[0]!r} is not a type of button that this template can have.")
    return check_count(kinds) or next((bad for button in buttons if (bad := KINDS[button["type"]](button))), None)


def check_count(kinds: list[str]) -> Refusal | None:
    """Check the number of buttons of each type, and that quick replies are adjacent."""
    if len(kinds) > IN_ALL:
        return wrong(f"A template has at most {IN_ALL} buttons.")
    for kind, count in Counter(kinds).items():
        if count > MOST.get(kind, 1):
            return wrong(f"A template has at most {MOST.get(kind, 1)} buttons of type {kind}.")
    groups = [quick for quick, _ in groupby(kind == "QUICK_REPLY" for kind in kinds)]
    return wrong("Quick replies stand together: before or after all other buttons.") if len(groups) > 2 else None
