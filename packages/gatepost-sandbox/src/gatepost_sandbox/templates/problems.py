"""Refusals of templates: code 100 with a subcode for each kind of problem."""

from gatepost_sandbox.errors import Refusal

TOO_MANY = 2388019
BEING_DELETED = 2388023
ALREADY_THERE = 2388024
NOT_EDITABLE = 2388039
TOO_LONG = 2388040
MISSING_FIELD = 2388043
BAD_HEADER = 2388047
BAD_BODY = 2388072
BAD_FOOTER = 2388073
TOO_MANY_VARIABLES = 2388293
VARIABLE_AT_EDGE = 2388299

_TITLES = {
    TOO_MANY: "Template limit reached",
    BEING_DELETED: "Template is being deleted",
    ALREADY_THERE: "Template exists in this language",
    NOT_EDITABLE: "Template cannot be edited",
    TOO_LONG: "Too many characters",
    MISSING_FIELD: "Field missing in components",
    BAD_HEADER: "Header not valid",
    BAD_BODY: "Body not valid",
    BAD_FOOTER: "Footer not valid",
    TOO_MANY_VARIABLES: "Too many variables for the text",
    VARIABLE_AT_EDGE: "Variable at start or end",
}


def wrong(why: str, subcode: int | None = None) -> Refusal:
    """Return the refusal of a template."""
    return Refusal(
        100,
        message="Invalid parameter",
        subcode=subcode,
        user_title=_TITLES.get(subcode or 0, "Template not valid"),
        user_message=why,
    )


def too_long(what: str, most: int) -> Refusal:
    """Return the refusal of a text that is too long."""
    return wrong(f"{what} must not be longer than {most} characters.", TOO_LONG)


def lacking(kind: str, field: str) -> Refusal:
    """Return the refusal of a component that lacks a field."""
    return wrong(f"A component of type {kind} lacks the field {field}.", MISSING_FIELD)
