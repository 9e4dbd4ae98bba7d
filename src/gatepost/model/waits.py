"""The rules that may delay a message, each with its description.

scheduled, retry, unknown_outcome, sending     the message itself, or one ahead of it in its conversation
pair_limit                                     the limit of messages to one person
tier, warm_up, new_conversations               the message would open a conversation, which is not allowed yet
not_connected, hold, throughput, no_worker     the whole channel
queue                                          none: the message is next
"""

from datetime import datetime
from uuid import UUID

import msgspec

SCHEDULED, RETRY, UNKNOWN, SENDING, PAIR = "scheduled", "retry", "unknown_outcome", "sending", "pair_limit"
TIER, WARM_UP, NEW = "tier", "warm_up", "new_conversations"
NOT_CONNECTED, HOLD, THROUGHPUT, NO_WORKER, QUEUE = "not_connected", "hold", "throughput", "no_worker", "queue"

_WORDS = {
    SCHEDULED: "It is scheduled",
    RETRY: "The last attempt failed; it is tried again",
    UNKNOWN: "The network's answer was lost; a status is awaited before it is tried again",
    SENDING: "The network has been called; its answer is awaited",
    TIER: "The number may open no more conversations within 24 hours",
    WARM_UP: "The number was linked lately and may write to no more new people today",
    NEW: "The network lets the number open no new conversations for a while",
    NOT_CONNECTED: "The channel is not connected",
    HOLD: "The network asked the number to wait",
    THROUGHPUT: "Other messages of the number are ahead of it",
    NO_WORKER: "No running gateway process sends for this channel",
    QUEUE: "It is next to be sent",
    PAIR: "One person may be written to only so often",
}
_AHEAD = {
    RETRY: "A message ahead of it in the conversation failed and is tried again",
    UNKNOWN: "A message ahead of it in the conversation awaits a status, because the network's answer was lost",
    SENDING: "A message ahead of it in the conversation is being sent",
}
RULES = tuple(sorted(_WORDS))
CONVERSATION_RULES = (RETRY, UNKNOWN, SENDING, PAIR, TIER, WARM_UP, NEW)  # why a sender leaves out a conversation...
CHANNEL_RULES = (NOT_CONNECTED, HOLD, THROUGHPUT)  # ...or starts nothing at all


class Wait(msgspec.Struct, frozen=True):
    """A rule that delays a message, and until when if known. `message_id` is the message that it waits for."""

    rule: str
    until: datetime | None = None
    message_id: UUID | None = None
    because: str = ""


def words(rule: str, *, ahead: bool = False) -> str:
    """Return the description of a rule."""
    return _AHEAD[rule] if ahead and rule in _AHEAD else _WORDS[rule]


def pair_words(seconds: float, burst: int) -> str:
    """Describe the pair limit with its figures."""
    return (
        f"A person may receive one message every {seconds:g} s; up to {burst} may be sent at once, "
        f"and each of them adds {seconds:g} s to the wait"
    )


def throughput_words(rate: float, ahead: int | None = None, *, more: bool = False) -> str:
    """Describe the throughput with its figures."""
    count = "Other" if ahead is None else f"{'More than ' if more else ''}{ahead:,}"
    return (
        f"{count} messages of this number are ahead of it in the queue, and the number sends at most {rate:g} a second"
    )
