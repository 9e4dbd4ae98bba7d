"""Header, body and footer of a template, each with its own rules."""

from typing import Any

from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.templates.problems import BAD_BODY, BAD_FOOTER, BAD_HEADER, lacking, too_long, wrong
from gatepost_sandbox.templates.template import Format
from gatepost_sandbox.templates.variables import check_examples, check_names, check_places, names_in

BODY_MAX, HEADER_MAX, FOOTER_MAX = 1024, 60, 60
MEDIA_HEADERS = ("IMAGE", "VIDEO", "GIF", "DOCUMENT")
HEADERS = ("TEXT", *MEDIA_HEADERS, "LOCATION", "PRODUCT")


def check_header(part: dict[str, Any], form: Format) -> Refusal | None:
    """Check a header of any format."""
    kind = part.get("format")
    if kind not in HEADERS:
        return wrong(f"The format of a header is one of {', '.join(HEADERS)}.", BAD_HEADER)
    if kind == "TEXT":
        return _check_header_text(part, form)
    if kind not in MEDIA_HEADERS:
        return None
    example = part.get("example")
    handles = example.get("header_handle") if isinstance(example, dict) else None
    if not isinstance(handles, list) or not handles:
        return lacking("HEADER", "example")
    if not isinstance(handles[0], str) or not handles[0] or handles[0].startswith("http"):
        return wrong("The example of a media header is the handle of an uploaded file.", BAD_HEADER)
    return None


def _check_header_text(part: dict[str, Any], form: Format) -> Refusal | None:
    text = part.get("text")
    if not isinstance(text, str) or not text.strip():
        return lacking("HEADER", "text")
    if len(text) > HEADER_MAX:
        return too_long("The header", HEADER_MAX)
    if "\n" in text or "*" in text:
        return wrong("A header has no line breaks and no formatting.", BAD_HEADER)
    names = names_in(text)
    if len(names) > 1:
        return wrong("A header has at most one variable.", BAD_HEADER)
    return check_names(text, form, BAD_HEADER) or check_examples(part, "HEADER", "header_text", form, names)


def check_body(part: dict[str, Any], form: Format, most: int = BODY_MAX) -> Refusal | None:
    """Check a body of text with its variables."""
    text = part.get("text")
    if not isinstance(text, str) or not text.strip():
        return lacking("BODY", "text")
    if len(text) > most:
        return too_long("The body", most)
    return (
        check_names(text, form, BAD_BODY)
        or check_places(text, BAD_BODY)
        or check_examples(part, "BODY", "body_text", form, names_in(text))
    )


def check_footer(part: dict[str, Any]) -> Refusal | None:
    """Check a footer of plain text."""
    text = part.get("text")
    if not isinstance(text, str) or not text.strip():
        return lacking("FOOTER", "text")
    if len(text) > FOOTER_MAX:
        return too_long("The footer", FOOTER_MAX)
    return wrong("A footer has no variables and no line breaks.", BAD_FOOTER) if "{{" in text or "\n" in text else None
