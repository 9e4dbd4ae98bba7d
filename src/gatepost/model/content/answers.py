"""Reactions and polls."""

from typing import Any

from gatepost.model import ids
from gatepost.model.content.emoji import is_emoji
from gatepost.model.content.found import Found
from gatepost.model.errors import invalid_field
from gatepost.model.reading import check_unlike, read_flag, read_list, read_object, read_text


def read_reaction(given: dict[str, Any], found: Found) -> dict[str, Any]:
    """An emoji on a message of the conversation; the empty text takes it back."""
    reaction = read_object("reaction", given["reaction"], ("message_id", "emoji"))
    text = reaction["message_id"]
    target = ids.read("", text) if isinstance(text, str) else None
    if target is None:
        raise invalid_field("reaction.message_id", "is not a message id of this gateway: 32 hex digits")
    emoji = read_text("reaction.emoji", reaction["emoji"], "reaction.emoji")
    if emoji and not is_emoji(emoji):
        raise invalid_field("reaction.emoji", "must be one emoji, or empty to take the reaction back")
    found.target = target
    return {"reaction": {"message_id": ids.message_id(target), "emoji": emoji}}


def read_poll(given: dict[str, Any], _: Found) -> dict[str, Any]:
    """A question with answers to choose from."""
    poll = read_object("poll", given["poll"], ("question", "options"), ("multiple",))
    question = read_text("poll.question", poll["question"], "poll.question")
    options = read_list("poll.options", poll["options"], "poll.options")
    read = [read_text(f"poll.options[{i}]", option, "poll.option") for i, option in enumerate(options)]
    check_unlike([(f"poll.options[{i}]", option) for i, option in enumerate(read)], "option")
    multiple = "multiple" in poll and read_flag("poll.multiple", poll["multiple"])
    return {"poll": {"question": question, "options": read, "multiple": multiple}}
