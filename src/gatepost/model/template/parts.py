"""Header, body and footer of a new template."""

from typing import Any

from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_storable_all, place, read_choice, read_object, read_text
from gatepost.model.limits import limit, maximum
from gatepost.model.template.examples import check_examples
from gatepost.model.template.values import word
from gatepost.model.template.variables import check_setting, check_variables, variables_of

HEADERS = ("TEXT", "IMAGE", "VIDEO", "GIF", "DOCUMENT", "LOCATION", "PRODUCT")
OFFER_HEADERS = ("IMAGE", "VIDEO")
CARD_HEADERS = ("IMAGE", "VIDEO", "PRODUCT")
_SAMPLED = ("IMAGE", "VIDEO", "GIF", "DOCUMENT")


def check_header(path: str, value: Any, formats: tuple[str, ...], *, named: bool) -> dict[str, Any]:
    """Check a header, which must have one of these formats, and its example."""
    header = read_object(path, value, ("type", "format"), ("text", "example"))
    kind = read_choice(place(path, "format"), word(header["format"]), formats)
    if kind == "TEXT":
        _check_header_text(path, read_object(path, value, ("type", "format", "text"), ("example",)), named=named)
    elif kind in _SAMPLED:
        header = read_object(path, value, ("type", "format", "example"))
        _check_sample(place(path, "example"), header["example"])
    else:
        header = read_object(path, value, ("type", "format"))
    return header | {"format": kind}


def _check_header_text(path: str, header: dict[str, Any], *, named: bool) -> None:
    where = place(path, "text")
    names = check_variables(where, read_text(where, header["text"], "template.header"), named=named)
    row = limit("template.header_variables")
    if not row.fits(len(names)):
        raise invalid_field(where, f"may have {row.words()}, but has {len(names)}")
    check_examples(path, header, "header", names, named=named)


def _check_sample(path: str, value: Any) -> None:
    where = place(path, "header_handle")
    handles = read_object(path, value, ("header_handle",))["header_handle"]
    if not isinstance(handles, list) or len(handles) != 1 or not isinstance(handles[0], str) or not handles[0]:
        raise invalid_field(where, 'must be a list with the handle of one uploaded sample, e.g. ["4::aW…"]')


def check_body(path: str, value: Any, name: str, *, named: bool) -> dict[str, Any]:
    """Check the body of a template or of a card. `name` is the name of its limit."""
    body = read_object(path, value, ("type", "text"), ("example",))
    where = place(path, "text")
    names = check_variables(where, read_text(where, body["text"], name), named=named)
    check_setting(where, body["text"])
    check_examples(path, body, "body", names, named=named)
    return body


def check_footer(path: str, value: Any) -> dict[str, Any]:
    """Check a footer: text without variables."""
    footer = read_object(path, value, ("type", "text"))
    if variables_of(read_text(place(path, "text"), footer["text"], "template.footer")):
        raise invalid_field(place(path, "text"), "must not have variables; put them into the body")
    return footer


def read_components(path: str, value: Any) -> list[Any]:
    """Read the list of components, which must not be empty."""
    if not isinstance(value, list) or not value:
        raise invalid_field(path, "must be a list of components, with at least one of type BODY")
    check_storable_all(path, value, maximum("template.depth"))
    return value
