"""Parts that several types of message share: the reference to a file, the header, the place, the product."""

from typing import Any

from gatepost.model import ids
from gatepost.model.content.references import MessageReferences
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import place, read_choice, read_number, read_object, read_text, read_texts, read_url
from gatepost.model.problem_collector import ProblemCollector

WHICH_FILE = 'give either {"id": "med_…"} of an uploaded file or {"link": "https://…"}'
HEADER_FILES = ("image", "video", "document")


def read_media(path: str, value: Any, found: MessageReferences) -> dict[str, str]:
    """A file: by the id of an upload, or by its address."""
    given = read_object(path, value, (), ("id", "link"))
    if len(given) != 1:
        raise invalid_field(path, WHICH_FILE)
    if "link" in given:
        link = read_url(place(path, "link"), given["link"], "media.link")
        found.links.append(link)
        return {"link": link}
    return {"id": read_media_id(place(path, "id"), given["id"], found)}


def read_media_id(path: str, value: Any, found: MessageReferences) -> str:
    """The id of an uploaded file, in the one way that we write it."""
    id_ = ids.read("med", value) if isinstance(value, str) else None
    if id_ is None:
        raise invalid_field(path, "is not the id of an uploaded file: med_ and 32 hex digits, from POST /api/v1/media")
    shown = ids.show("med", id_)
    found.media.append(shown)
    return shown


def read_header(value: Any, found: MessageReferences, kinds: tuple[str, ...]) -> dict[str, Any]:
    """The header of an interactive message, of one of these kinds."""
    given = read_object("header", value, ("type",), ("text", "media", "filename"))
    kind = read_choice("header.type", given["type"], kinds)
    if kind == "text":
        given = read_object("header", value, ("type", "text"))
        return {"type": "text", "text": read_text("header.text", given["text"], "interactive.header")}
    given = read_object("header", value, ("type", "media"), ("filename",) if kind == "document" else ())
    return {"type": kind} | read_file("header", given, found)


def read_file(path: str, given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    """A file with its name, where it has one."""
    return read_parts((_media, path, given, found), (read_texts, path, given, {"filename": "media.filename"}))


def _media(path: str, given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    return {"media": read_media(place(path, "media"), given["media"], found)}


def read_location(path: str, value: Any) -> dict[str, Any]:
    """A place on earth, perhaps with its name and address."""
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
    """A product of a catalogue."""
    given = read_object(path, value, ("catalog_id", "retailer_id"))
    return read_texts(path, given, {name: f"product.{name}" for name in ("catalog_id", "retailer_id")})


def read_words(given: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Plain texts among the fields, each with the name of its limit; those that are not given are left out."""
    return read_texts("", given, names)


def read_parts(*parts: tuple[Any, ...]) -> dict[str, Any]:
    """Several parts of one content, each a function with its arguments; one error names what is wrong in all."""
    problems = ProblemCollector()
    content: dict[str, Any] = {}
    for read, *arguments in parts:
        content |= problems.read(read, *arguments) or {}
    problems.check()
    return content
