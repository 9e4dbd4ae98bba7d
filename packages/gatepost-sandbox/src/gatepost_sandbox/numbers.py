"""A business number at run time: random streams, rate limits, open windows and outbox."""

from collections.abc import Callable
from typing import Any

from gatepost_sandbox.clock import Clock
from gatepost_sandbox.conversation_tier import OpenedConversations, tier_name
from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.ids import stream
from gatepost_sandbox.ledger import Ledger
from gatepost_sandbox.limits import Pace, RecentMarketing
from gatepost_sandbox.outbox import Address, Outbox, Post
from gatepost_sandbox.recent_messages import RecentMessages
from gatepost_sandbox.settings import NumberSpec, SandboxSettings, merge

WINDOW_SECONDS = 24 * 3600
FREE_ENTRY_SECONDS = 72 * 3600
HIGH_THROUGHPUT = 1000
_WITHOUT_CONVERSATIONS = 24  # since this version statuses have no conversation

# The refusal of every send, by status of the number.
CLOSED = {
    "BANNED": Refusal(131031, details="The account has been locked."),
    **dict.fromkeys(
        ("DISCONNECTED", "PENDING", "UNVERIFIED", "MIGRATED", "DELETED"),
        Refusal(133010, details="The phone number is not registered."),
    ),
}


class Number:
    """A registered number at run time."""

    def __init__(
        self,
        spec: NumberSpec,
        settings: SandboxSettings,
        clock: Clock,
        ledger: Ledger,
        post: Post,
        address: Address,
    ) -> None:
        self.id = spec.phone_number_id
        self.pace = Pace()
        self.recent_marketing = RecentMarketing()
        self.opened = OpenedConversations()
        self.recent_messages = RecentMessages()
        self.ids = stream(settings.seed, self.id, "ids")
        self.jitter = stream(settings.seed, self.id, "jitter")
        self.random = stream(settings.seed, self.id, "pacing")
        self.maintenance_until = 0.0
        self.rising = False  # the next tier is scheduled
        self.stopped: set[str] = set()  # people who stopped marketing messages
        self.held: dict[str, Callable[[bool], None]] = {}  # held messages; called with whether to drop
        self._last_incoming: dict[str, float] = {}
        self._entries: dict[str, tuple[float, float]] = {}  # answer until, free until
        self.outbox = Outbox(clock, ledger, post, address)
        self.configure(spec, settings)

    def configure(self, spec: NumberSpec, settings: SandboxSettings) -> None:
        """Apply a changed registration or changed global settings."""
        delays = merge(settings.delays, spec.delays)
        limits = merge(settings.limits, spec.limits)
        callbacks = merge(settings.callbacks, spec.callbacks)
        self.spec, self.delays, self.limits, self.callbacks = spec, delays, limits, callbacks
        self.closed = CLOSED.get(spec.status)
        self.restricted = spec.status == "RESTRICTED"
        self.checks_openings = limits.window == "sync" or limits.tier is not None or self.restricted
        self.reports_conversations = int(callbacks.version[1:].partition(".")[0]) < _WITHOUT_CONVERSATIONS
        self.outbox.configure(spec, callbacks)

    def note_incoming(self, person: str, now: float) -> None:
        """Open the customer service window: a person wrote."""
        self._last_incoming[person] = now

    def window_open(self, person: str, now: float) -> bool:
        """Return whether free-form text may reach this person."""
        last_incoming = self._last_incoming.get(person)
        return last_incoming is not None and now - last_incoming < WINDOW_SECONDS

    def window_end(self, person: str, now: float) -> float | None:
        """Return the end of the open window with this person, or None."""
        return self._last_incoming[person] + WINDOW_SECONDS if self.window_open(person, now) else None

    def move_person(self, old: str, new: str) -> None:
        """Give the windows of a person, and what concerns marketing messages, to their new number."""
        windows: tuple[dict[str, Any], ...] = (self._last_incoming, self._entries)
        for window in windows:
            if old in window:
                window[new] = window.pop(old)
        self.recent_marketing.move_person(old, new)
        if old in self.stopped:
            self.stopped.discard(old)
            self.stopped.add(new)

    def note_ad_referral(self, person: str, now: float) -> None:
        """Record that a person came from an ad: a reply within a day starts three free days."""
        self._entries[person] = (now + WINDOW_SECONDS, 0.0)

    def free_entry(self, person: str, now: float) -> float | None:
        """Return the end of the free entry point window with this person, opening it if due; or None."""
        if person not in self._entries:
            return None
        answer_until, free_until = self._entries[person]
        if not free_until and now < answer_until:
            free_until = now + FREE_ENTRY_SECONDS
            self._entries[person] = (answer_until, free_until)
        return free_until if now < free_until else None

    def node(self) -> dict[str, Any]:
        """Return the number as the network's own API shows it."""
        return {
            "verified_name": self.spec.name,
            "code_verification_status": "VERIFIED",
            "display_phone_number": f"+{self.spec.phone}",
            "quality_rating": self.spec.quality_rating,
            "platform_type": "CLOUD_API",
            "throughput": {"level": throughput_level(self.limits.throughput)},
            "whatsapp_business_manager_messaging_limit": tier_name(self.limits.tier),
            "status": self.spec.status,
            "id": self.id,
        }


def throughput_level(throughput: int | None) -> str:
    """Return the throughput level as the network writes it; NOT_APPLICABLE where the limit is disabled."""
    if throughput is None:
        return "NOT_APPLICABLE"
    return "HIGH" if throughput >= HIGH_THROUGHPUT else "STANDARD"
