"""The files that a message may have: MIME types and sizes, by message type."""

from gatepost.model.errors import FieldProblem, TooLarge, WrongMediaType
from gatepost.model.limits import FILES, FileLimit, format_size


def bare_type(mime_type: str) -> str:
    """Return a MIME type without parameters, in lowercase."""
    return mime_type.partition(";")[0].strip().lower()


def check_media(
    type_: str,
    mime_type: str,
    size: int,
    *,
    any_document: bool = False,
    animated: bool | None = None,
    field: str = "media",
) -> None:
    """Reject a file that a message of this type cannot have. A sticker may be animated unless it is known not to be."""
    row = FILES[type_]
    bare = bare_type(mime_type)
    if bare not in row.types and not (any_document and type_ == "document" and "/" in bare):
        why = f"is {bare or 'of no type'}, but a message of type {type_} supports {', '.join(row.types)}"
        raise WrongMediaType(f"{field}: {why}", fields=(FieldProblem(field, why),))
    most = _most(row, animated)
    if size > most:
        why = f"has {size:,} bytes, but {_article(type_)} {type_} may have at most {format_size(most)} ({most:,} bytes)"
        raise TooLarge(f"{field}: {why}", "media_too_large", fields=(FieldProblem(field, why),))


def _most(row: FileLimit, animated: bool | None) -> int:
    return row.max if row.animated is None or animated is False else row.animated


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
