"""The content of reactions and polls."""

from typing import Any
from uuid import UUID

from gatepost.model import ids
from gatepost.model.content.emoji import is_emoji
from gatepost.model.content.references import MessageReferences
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_unlike, read_flag, read_list, read_object, read_text
from gatepost.model.problem_collector import ProblemCollector, read_each


def read_reaction(given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    """Read the content of a reaction to a message; an empty emoji removes it."""
    reaction = read_object("reaction", given["reaction"], ("message_id", "emoji"))
    problems = ProblemCollector()
    target = problems.read(_target, reaction["message_id"])
    emoji = problems.read(_emoji, reaction["emoji"])
    problems.check()
    assert target is not None
    found.target = target
    return {"reaction": {"message_id": ids.message_id(target), "emoji": emoji}}


def _target(value: Any) -> UUID:
    target = ids.parse_id("", value) if isinstance(value, str) else None
    if target is None:
        raise invalid_field("reaction.message_id", "is not a message id of this gateway: 32 hex digits")
    return target


def _emoji(value: Any) -> str:
    emoji = read_text("reaction.emoji", value, "reaction.emoji")
    if emoji and not is_emoji(emoji):
        raise invalid_field("reaction.emoji", "must be one emoji, or empty to take the reaction back")
    return emoji


def read_poll(given: dict[str, Any], _: MessageReferences) -> dict[str, Any]:
    """Read the content of a poll."""
    poll = read_object("poll", given["poll"], ("question", "options"), ("multiple",))
    problems = ProblemCollector()
    question = problems.read(read_text, "poll.question", poll["question"], "poll.question")
    options = problems.read(_options, poll["options"])
    multiple = "multiple" in poll and problems.read(read_flag, "poll.multiple", poll["multiple"])
    problems.check()
    return {"poll": {"question": question, "options": options, "multiple": multiple}}


def _options(value: Any) -> list[str]:
    options = read_list("poll.options", value, "poll.options")
    read = read_each("poll.options", options, read_text, name="poll.option")
    check_unlike([(f"poll.options[{i}]", option) for i, option in enumerate(read)], "option")
    return read
