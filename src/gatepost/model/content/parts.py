"""Parts that several message types share: file, header, location, product, and the texts of interactive messages."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from gatepost.model import ids
from gatepost.model.content.fields import MessageReferences, Part, number, read_variant, reads, text
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import read_url

WHICH_FILE = 'give either {"id": "med_…"} of an uploaded file or {"link": "https://…"}'

Body = Annotated[str, text("interactive.body")]
Footer = Annotated[str, text("interactive.footer")]
Fallback = Annotated[
    Literal["text"], Meta(description="Send choices as numbered text if the channel does not support them.")
]
FileName = Annotated[str, text("media.filename")]
CatalogId = Annotated[str, text("product.catalog_id")]
ProductId = Annotated[str, text("product.retailer_id")]


def read_media_id(path: str, value: Any, found: MessageReferences) -> str:
    """Read the id of an uploaded file; return it in its canonical form."""
    id_ = ids.parse_id("med", value) if isinstance(value, str) else None
    if id_ is None:
        raise invalid_field(path, "is not the id of an uploaded file: med_ and 32 hex digits, from POST /api/v1/media")
    media_id = ids.format_id("med", id_)
    found.media.append(media_id)
    return media_id


def _read_link(path: str, value: Any, found: MessageReferences) -> str:
    link = read_url(path, value, "media.link")
    found.links.append(link)
    return link


_LINK = text("media.link")


class FileRef(Part, frozen=True):
    """A file: either the `id` of an uploaded file or the `link` of a public URL."""

    id: Annotated[str, reads(read_media_id, "The id of an uploaded file.")] | None = None
    link: Annotated[str, reads(_read_link, _LINK.description or "", **_LINK.extra_json_schema or {})] | None = None

    @classmethod
    def check_given(cls, path: str, given: dict[str, Any]) -> None:
        if len(given) != 1:
            raise invalid_field(path, WHICH_FILE)


File = Annotated[FileRef, Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1})]


class Place(Part, frozen=True):
    """A location on the map."""

    latitude: Annotated[float, number("location.latitude")]
    longitude: Annotated[float, number("location.longitude")]
    name: Annotated[str, text("location.name")] | None = None
    address: Annotated[str, text("location.address")] | None = None


class ProductRef(Part, frozen=True):
    """A product of a catalogue."""

    catalog_id: CatalogId
    retailer_id: ProductId


class HeaderText(Part, frozen=True):
    """A text above a message."""

    type: Literal["text"]
    text: Annotated[str, text("interactive.header")]


class HeaderFile(Part, frozen=True):
    """A picture or video above a message."""

    type: Literal["image", "video"]
    media: File


class HeaderDocument(Part, frozen=True):
    """A document above a message."""

    type: Literal["document"]
    media: File
    filename: FileName | None = None


def _read_header(path: str, value: Any, found: MessageReferences) -> dict[str, Any]:
    parts: dict[str, type[Part]] = {
        "text": HeaderText,
        "image": HeaderFile,
        "video": HeaderFile,
        "document": HeaderDocument,
    }
    return read_variant(path, value, found, parts)


def _read_text_header(path: str, value: Any, found: MessageReferences) -> dict[str, Any]:
    return read_variant(path, value, found, {"text": HeaderText})


Header = Annotated[Any, reads(_read_header)]
TextHeader = Annotated[HeaderText, reads(_read_text_header)]
