"""Our message id in `biz_opaque_callback_data`, which the network returns in every status."""

from uuid import UUID

from gatepost.model import ids

_PREFIX = "gp1:"


def pack(message_id: UUID, attempt: int) -> str:
    return f"{_PREFIX}{message_id.hex}:{attempt}"


def unpack(text: str | None) -> tuple[UUID, int] | None:
    """Return the message and the attempt; None if the data is not ours."""
    if not text or not text.startswith(_PREFIX):
        return None
    id_text, _, attempt = text[len(_PREFIX) :].partition(":")
    message_id = ids.parse_id("", id_text)
    if message_id is None or not (attempt.isascii() and attempt.isdigit() and len(attempt) < 6):
        return None
    return message_id, int(attempt)
