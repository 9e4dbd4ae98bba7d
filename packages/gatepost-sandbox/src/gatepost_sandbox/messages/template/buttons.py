"""The buttons of a template: which of them need a parameter, and of which type."""

from typing import Any

from gatepost_sandbox.errors import Refusal, invalid, missing
from gatepost_sandbox.messages.fields import Refused, need_object
from gatepost_sandbox.messages.interactive.products import check_sections
from gatepost_sandbox.messages.limits import LIMITS
from gatepost_sandbox.messages.template.shape import button_index
from gatepost_sandbox.messages.template.variables import fill, find_variables, mismatch

# Type of the stored button: the sub_type and the parameter type with which it is sent.
_SORTS = {
    "QUICK_REPLY": ("quick_reply", "payload"),
    "URL": ("url", "text"),
    "OTP": ("url", "text"),
    "COPY_CODE": ("copy_code", "coupon_code"),
    "FLOW": ("flow", "action"),
    "CATALOG": ("catalog", "action"),
    "MPM": ("mpm", "action"),
    "SPM": ("spm", "action"),
}


def check_buttons(stored: list[dict[str, Any]], components: list[dict[str, Any]]) -> None:
    """Check that every button exists in the template and has the parameter that it needs."""
    sent = {button_index(one): one for one in components if one["type"].lower() == "button"}
    for index, component in sent.items():
        if index is None or index >= len(stored):
            raise Refused(invalid("template.components.button.index", f"{index} is not a button of the template"))
        _check_button(stored[index], component, index)
    for index, button in enumerate(stored):
        if index not in sent and needs_parameter(button):
            sort = str(button["type"]).lower()
            raise Refused(missing(f"buttons: button at index {index} of type {sort} requires a parameter"))


def needs_parameter(button: dict[str, Any]) -> bool:
    """Return whether a button needs a parameter."""
    kind = str(button.get("type", "")).upper()
    return kind in ("COPY_CODE", "OTP", "MPM") or (kind == "URL" and bool(find_variables(str(button.get("url", "")))))


def _check_button(stored: dict[str, Any], component: dict[str, Any], index: int) -> None:
    where = f"button at index {index}"
    kind = str(stored.get("type", "")).upper()
    sub_type, parameter_type = _SORTS.get(kind, ("none", "none"))
    if component["sub_type"] != sub_type:
        raise mismatch(where, sub_type, component["sub_type"])
    parameters = component.get("parameters") or []
    wanted = 1 if needs_parameter(stored) else min(len(parameters), 1)
    if kind == "URL" and not needs_parameter(stored):
        wanted = 0
    if len(parameters) != wanted:
        details = (
            f"{where}: number of params ({len(parameters)}) does not match the expected number of params ({wanted})"
        )
        raise Refused(Refusal(132000, details=details))
    for parameter in parameters:
        if parameter["type"].lower() != parameter_type:
            raise mismatch(where, parameter_type, parameter["type"])
        _check_value(stored, kind, parameter, where)


def _check_value(stored: dict[str, Any], kind: str, parameter: dict[str, Any], where: str) -> None:
    if kind == "URL" and len(fill(str(stored["url"]), [parameter])) > LIMITS["template.button.url"]:
        details = f"{where}: the address with its parameter is longer than {LIMITS['template.button.url']} characters"
        raise Refused(Refusal(132005, details=details))
    if kind == "OTP" and len(parameter["text"]) > LIMITS["template.button.copy_code"]:
        most = LIMITS["template.button.copy_code"]
        raise Refused(Refusal(132005, details=f"{where}: the code is longer than {most} characters"))
    if kind == "MPM":
        check_sections(need_object(parameter, "action", where), f"{where}.action", "template.mpm")
