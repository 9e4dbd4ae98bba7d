"""Parts that several message types share: file reference, header, location, product."""

from typing import Any

from gatepost.model import ids
from gatepost.model.content.references import MessageReferences
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import place, read_choice, read_number, read_object, read_text, read_texts, read_url
from gatepost.model.problem_collector import ProblemCollector

WHICH_FILE = 'give either {"id": "med_…"} of an uploaded file or {"link": "https://…"}'
HEADER_FILES = ("image", "video", "document")


def read_media(path: str, value: Any, found: MessageReferences) -> dict[str, str]:
    """Read a file reference: the id of an upload, or a link."""
    given = read_object(path, value, (), ("id", "link"))
    if len(given) != 1:
        raise invalid_field(path, WHICH_FILE)
    if "link" in given:
        link = read_url(place(path, "link"), given["link"], "media.link")
        found.links.append(link)
        return {"link": link}
    return {"id": read_media_id(place(path, "id"), given["id"], found)}


def read_media_id(path: str, value: Any, found: MessageReferences) -> str:
    """Read the id of an uploaded file; return it in its canonical form."""
    id_ = ids.parse_id("med", value) if isinstance(value, str) else None
    if id_ is None:
        raise invalid_field(path, "is not the id of an uploaded file: med_ and 32 hex digits, from POST /api/v1/media")
    shown = ids.format_id("med", id_)
    found.media.append(shown)
    return shown


def read_header(value: Any, found: MessageReferences, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Read the header of an interactive message, which must be of one of these kinds."""
    given = read_object("header", value, ("type",), ("text", "media", "filename"))
    kind = read_choice("header.type", given["type"], kinds)
    if kind == "text":
        given = read_object("header", value, ("type", "text"))
        return {"type": "text", "text": read_text("header.text", given["text"], "interactive.header")}
    given = read_object("header", value, ("type", "media"), ("filename",) if kind == "document" else ())
    return {"type": kind} | read_file("header", given, found)


def read_file(path: str, given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    """Read a file reference and its optional file name."""
    return read_parts((_media, path, given, found), (read_texts, path, given, {"filename": "media.filename"}))


def _media(path: str, given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    return {"media": read_media(place(path, "media"), given["media"], found)}


def read_location(path: str, value: Any) -> dict[str, Any]:
    """Read a location with its optional name and address."""
    given = read_object(path, value, ("latitude", "longitude"), ("name", "address"))
    words = {name: f"location.{name}" for name in ("name", "address")}
    problems = ProblemCollector()
    content: dict[str, Any] = {
        name: problems.read(read_number, place(path, name), given[name], f"location.{name}")
        for name in ("latitude", "longitude")
    }
    content |= problems.read(read_texts, path, given, words) or {}
    problems.check()
    return content


def read_product(path: str, value: Any) -> dict[str, str]:
    """Read a product of a catalogue."""
    given = read_object(path, value, ("catalog_id", "retailer_id"))
    return read_texts(path, given, {name: f"product.{name}" for name in ("catalog_id", "retailer_id")})


def read_words(given: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Read the texts among the fields, each with the name of its limit; missing ones are omitted."""
    return read_texts("", given, names)


def read_parts(*parts: tuple[Any, ...]) -> dict[str, Any]:
    """Read the parts of a content, each a function with its arguments. One error names the problems of all parts."""
    problems = ProblemCollector()
    content: dict[str, Any] = {}
    for read, *arguments in parts:
        content |= problems.read(read, *arguments) or {}
    problems.check()
    return content
