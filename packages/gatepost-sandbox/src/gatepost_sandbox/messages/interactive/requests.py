"""Requests for a form (flow), a location or an address, and types that only have to be well-formed."""

from typing import Any

from gatepost_sandbox.messages.fields import as_object, may_text, need_object, need_one_of, need_text, refuse

_ACTION = "interactive.action"
_PARAMETERS = f"{_ACTION}.parameters"


def check_flow(action: dict[str, Any]) -> tuple[()]:
    """Check a form to fill in."""
    need_one_of(action, "name", _ACTION, ("flow",))
    parameters = need_object(action, "parameters", _ACTION)
    need_text(parameters, "flow_message_version", _PARAMETERS)
    need_text(parameters, "flow_cta", _PARAMETERS, "interactive.flow.cta")
    given = [name for name in ("flow_id", "flow_name") if may_text(parameters, name, _PARAMETERS)]
    if len(given) != 1:
        refuse(_PARAMETERS, "must have exactly one of flow_id and flow_name")
    may_text(parameters, "flow_token", _PARAMETERS)
    if "mode" in parameters:
        need_one_of(parameters, "mode", _PARAMETERS, ("draft", "published"))
    if "flow_action" in parameters:
        need_one_of(parameters, "flow_action", _PARAMETERS, ("navigate", "data_exchange"))
    if parameters.get("flow_action_payload") is not None:
        _check_flow_payload(need_object(parameters, "flow_action_payload", _PARAMETERS))
    return ()


def _check_flow_payload(payload: dict[str, Any]) -> None:
    path = f"{_PARAMETERS}.flow_action_payload"
    need_text(payload, "screen", path)
    if "data" in payload and not as_object(payload["data"], f"{path}.data"):
        refuse(f"{path}.data", "must not be empty")


def check_location_request(action: dict[str, Any]) -> tuple[()]:
    """Check a request to share a place."""
    need_one_of(action, "name", _ACTION, ("send_location",))
    return ()


def check_address(action: dict[str, Any]) -> tuple[()]:
    """Check a request for an address, which the network has in India alone."""
    need_one_of(action, "name", _ACTION, ("address_message",))
    parameters = need_object(action, "parameters", _ACTION)
    need_one_of(parameters, "country", _PARAMETERS, ("IN",))
    for name in ("values", "validation_errors"):
        if parameters.get(name) is not None:
            need_object(parameters, name, _PARAMETERS)
    return ()


def check_any_action(action: dict[str, Any]) -> tuple[()]:
    """Check an action of which only the shape is known."""
    need_text(action, "name", _ACTION)
    if action.get("parameters") is not None:
        need_object(action, "parameters", _ACTION)
    return ()
