"""Who else is looking at a conversation, or typing in it. One entry per user, in memory, for a short time."""

from uuid import UUID

import msgspec

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.services.account_feed import Notice
from gatepost.services.account_streams import AccountStreams
from gatepost.store.notifications import Presence

SECONDS = {"viewing": 90, "typing": 10, "gone": 0}  # until a state expires, if the page does not repeat it
MAX_KNOWN = 10_000  # of all accounts; the oldest are forgotten first
NAME_MAX = 100


class PresenceBoard:
    """What this node knows about people of all accounts. All nodes get the same notifications."""

    def __init__(self, streams: AccountStreams, clock: Clock) -> None:
        self._streams = streams
        self._clock = clock
        self._known: dict[UUID, tuple[float, Presence]] = {}  # by user: the end, and what

    def put(self, presence: Presence) -> None:
        """Remember a state, and tell the other people of the account."""
        self._known.pop(presence.user_id, None)
        if SECONDS.get(presence.state):
            self._known[presence.user_id] = (self._clock.monotonic() + SECONDS[presence.state], presence)
        if len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        self._streams.notify(presence.account_id, _notice(presence, SECONDS.get(presence.state, 0)), presence.user_id)

    def current(self, account_id: UUID, user_id: UUID) -> list[Notice]:
        """Return where the other people of an account are, for a stream that begins."""
        now = self._clock.monotonic()
        for gone in [known for known, (end, _) in self._known.items() if end <= now]:
            del self._known[gone]
        return [
            _notice(presence, end - now)
            for end, presence in self._known.values()
            if presence.account_id == account_id and presence.user_id != user_id
        ]


def _notice(presence: Presence, seconds: float) -> Notice:
    shown = {
        "user": {"id": ids.format_id("usr", presence.user_id), "name": presence.name},
        "channel": {"id": ids.format_id("ch", presence.channel_id)},
        "conversation": {"id": ids.format_id("cv", presence.contact_id)},
        "state": presence.state,
        "expires_in": round(seconds, 1),
    }
    return Notice("presence", msgspec.json.encode(shown).decode())
