"""A business number at work: its random streams, its pace, its open windows and its outbox."""

from collections.abc import Callable
from typing import Any

from gatepost_sandbox.clock import Clock
from gatepost_sandbox.conversation_tier import OpenedConversations, tier_name
from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.ids import stream
from gatepost_sandbox.ledger import Ledger
from gatepost_sandbox.limits import Pace
from gatepost_sandbox.outbox import Address, Outbox, Post
from gatepost_sandbox.recent_messages import RecentMessages
from gatepost_sandbox.settings import NumberSpec, SandboxSettings, merge

WINDOW_SECONDS = 24 * 3600
FREE_ENTRY_SECONDS = 72 * 3600
HIGH_THROUGHPUT = 1000
_WITHOUT_CONVERSATIONS = 24  # the version since which statuses no longer tell of conversations

# What a number in this state says to every send.
CLOSED = {
    "BANNED": Refusal(131031, details="The account has been locked."),
    **dict.fromkeys(
        ("DISCONNECTED", "PENDING", "UNVERIFIED", "MIGRATED", "DELETED"),
        Refusal(133010, details="The phone number is not registered."),
    ),
}


class Number:
    """A registered number at work."""

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
        self.opened = OpenedConversations()
        self.recent_messages = RecentMessages()
        self.ids = stream(settings.seed, self.id, "ids")
        self.jitter = stream(settings.seed, self.id, "jitter")
        self.random = stream(settings.seed, self.id, "pacing")
        self.maintenance_until = 0.0
        self.rising = False  # a higher tier has been earned and will come
        self.stopped: set[str] = set()  # people who want no marketing
        self.held: dict[str, Callable[[bool], None]] = {}  # messages to be judged; called with whether to drop
        self._last_incoming: dict[str, float] = {}
        self._entries: dict[str, tuple[float, float]] = {}  # answer until, free until
        self.outbox = Outbox(clock, ledger, post, address)
        self.configure(spec, settings)

    def configure(self, spec: NumberSpec, settings: SandboxSettings) -> None:
        """Take on a changed registration or changed global settings."""
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
        """A person wrote: the customer-service window opens anew."""
        self._last_incoming[person] = now

    def window_open(self, person: str, now: float) -> bool:
        """Whether free-form text may reach this person."""
        heard = self._last_incoming.get(person)
        return heard is not None and now - heard < WINDOW_SECONDS

    def note_ad_referral(self, person: str, now: float) -> None:
        """A person came from an advertisement: an answer within a day makes three days free."""
        self._entries[person] = (now + WINDOW_SECONDS, 0.0)

    def free_entry(self, person: str, now: float) -> float | None:
        """Until when everything to this person is free, being answered now; None when it is not."""
        if person not in self._entries:
            return None
        answer_until, free_until = self._entries[person]
        if not free_until and now < answer_until:
            free_until = now + FREE_ENTRY_SECONDS
            self._entries[person] = (answer_until, free_until)
        return free_until if now < free_until else None

    def node(self) -> dict[str, Any]:
        """The number as the network's own API shows it."""
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
    """What a number may send, in the network's words; none at all where that limit is switched off."""
    if throughput is None:
        return "NOT_APPLICABLE"
    return "HIGH" if throughput >= HIGH_THROUGHPUT else "STANDARD"
