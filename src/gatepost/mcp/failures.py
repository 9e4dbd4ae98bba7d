"""Errors of tools, in the words and with the codes of the REST API, and with the tool that helps.

Errors of arguments say which one is wrong, and what it must be, in JSON's words.
"""

import re
from typing import Any

import msgspec

from gatepost.mcp.schemas import make_schema
from gatepost.model.errors import FieldProblem, GatepostError, Invalid, invalid_field
from gatepost.model.mcp_verdict import PolicyRefused

_INSTEAD = {
    "window_closed": "Use send_template with an approved template; list_templates shows them.",
    "template_not_approved": "Use a template with the status APPROVED; list_templates shows them.",
    "template_variables_mismatch": "Use preview_template to see which variables the template has.",
    "not_found": "Use an id that another tool returned on this channel.",
    "invalid_cursor": "Call the tool without a cursor to start from the beginning.",
    "unsupported_on_channel": "Use get_channel to see which types this channel can send.",
    "database_unavailable": "Nothing was changed or sent. Call the tool again shortly.",
    "overloaded": "Nothing was changed or sent. Call the tool again shortly.",
}
_PATH = re.compile(r" - at `\$\.?(.*)`$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_KINDS = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_TYPES = {
    "str": "a string",
    "int": "a whole number",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
}
_NAME_MAX = 64
_BOUND = re.compile(r"Expected `(\w+)`( of length)? ([<>]=) (\d+)")
_ENUM = re.compile(r"Invalid enum value .*", re.DOTALL)
_WORDS = {">=": "at least", "<=": "at most"}
_UNITS = {"str": "characters", "array": "items", "object": "fields"}


class ToolFailure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a call failed, and what to do."""

    code: str
    message: str
    retryable: bool
    instead: str | None = None
    retry_after: float | None = None
    rule: str | None = None  # of the policy
    fields: tuple[FieldProblem, ...] = ()

    @classmethod
    def of(cls, error: GatepostError) -> "ToolFailure":
        """Return the failure for an error."""
        return cls(
            error.code,
            error.verdict.reason or error.message if isinstance(error, PolicyRefused) else error.message,
            error.retryable,
            error.verdict.instead if isinstance(error, PolicyRefused) else _INSTEAD.get(error.code),
            error.retry_after,
            error.rule if isinstance(error, PolicyRefused) else None,
            error.fields,
        )


def invalid_arguments(error: msgspec.ValidationError, struct: type[Any]) -> Invalid:
    """Return our error for arguments that do not fit a struct."""
    text = str(error)
    found = _PATH.search(text)
    path, text = (found[1], text[: found.start()]) if found else ("", text)
    if unknown := _UNKNOWN.fullmatch(text):
        known = ", ".join(field.encode_name for field in msgspec.structs.fields(struct))
        rest = f"is not an argument; there are: {known}" if not path else "is not a field of this object"
        return invalid_field(_join(path, unknown[1]), rest)
    if missing := _MISSING.fullmatch(text):
        return invalid_field(_join(path, missing[1]), "is required")
    if kinds := _KINDS.match(text):
        return invalid_field(path or "arguments", f"must be {_kind(kinds[1])}, not {_kind(kinds[2])}")
    if bound := _BOUND.fullmatch(text):
        kind, length, sign, number = bound.groups()
        must = (
            f"must have {_WORDS[sign]} {int(number):,} {_UNITS[kind]}" if length else f"must be {_WORDS[sign]} {number}"
        )
        return invalid_field(path, must)
    if _ENUM.fullmatch(text):
        choices = make_schema(struct)["properties"].get(path, {}).get("enum", ())
        return invalid_field(path, f"must be one of: {', '.join(choices)}")
    return invalid_field(path or "arguments", "is not valid")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}"[:_NAME_MAX].lstrip(".")


def _kind(text: str) -> str:
    return " or ".join(_TYPES.get(one, one) for one in text.split(" | "))
