"""Reactions and polls."""

from typing import Annotated, Any

from msgspec import Meta

from gatepost.model import ids
from gatepost.model.content.emoji import is_emoji
from gatepost.model.content.fields import MessageReferences, MessageType, Part, items, reads, text
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_unlike, read_text
from gatepost.model.limits import limit


def _read_target(path: str, value: Any, found: MessageReferences) -> str:
    target = ids.parse_id("", value) if isinstance(value, str) else None
    if target is None:
        raise invalid_field(path, "is not a message id of this gateway: 32 hex digits")
    found.target = target
    return ids.message_id(target)


def _read_emoji(path: str, value: Any, _: MessageReferences) -> str:
    emoji = read_text(path, value, "reaction.emoji")
    if emoji and not is_emoji(emoji):
        raise invalid_field(path, "must be one emoji, or empty to take the reaction back")
    return emoji


def _check_options(path: str, options: list[Any]) -> None:
    check_unlike([(f"{path}[{i}]", option) for i, option in enumerate(options)], "option")


class ReactionContent(Part, frozen=True):
    """An emoji on a message. An empty string removes it."""

    message_id: Annotated[str, reads(_read_target, "The message to react to.", pattern="^[0-9A-Fa-f]{32}$")]
    emoji: Annotated[str, reads(_read_emoji, limit("reaction.emoji").note)]


class PollContent(Part, frozen=True):
    """A question with answers to choose from."""

    question: Annotated[str, text("poll.question")]
    options: Annotated[list[Annotated[str, text("poll.option")]], items("poll.options", _check_options)]
    multiple: Annotated[bool, Meta(description="Whether a person may choose several answers.")] | None = None

    @classmethod
    def complete(cls, path: str, content: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
        return content | {"multiple": content.get("multiple", False)}


TYPES = {
    "reaction": MessageType(
        "An emoji on a message",
        required={"reaction": ReactionContent},
        optional={},
        example={"reaction": {"message_id": "{{message_id}}", "emoji": "👍"}},
    ),
    "poll": MessageType(
        "A poll; QR channels",
        required={"poll": PollContent},
        optional={},
        example={"poll": {"question": "Which day suits you?", "options": ["Friday", "Saturday"], "multiple": False}},
    ),
}
