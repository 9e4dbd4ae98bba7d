"""All settings of the sandbox with their defaults, and the registration of a number."""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

Tuned = TypeVar("Tuned", bound=msgspec.Struct)
Seconds = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=0)]
Numeric = Annotated[str, Meta(pattern=r"^[0-9]+$")]
CharacterName = Literal["normal", "quick", "slow", "in_chat", "silent", "offline", "absent", "blocked"]
Phone = Annotated[str, Meta(pattern=r"^[0-9]{7,15}$")]


class Delays(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When each status happens, in seconds after acceptance, each spread by ±`jitter` of itself."""

    sent: Seconds = 0.05
    delivered: Seconds = 0.3
    read: Seconds = 0.8
    played: Seconds = 2.0  # of a voice message, if it is read
    jitter: Share = 0.2
    skip_delivered: Share = 0.0  # probability that only `read` is reported, as when the chat is open on the phone


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of one number; None disables a limit."""

    throughput: Positive | None = 80
    pair_interval: Seconds | None = 6.0
    pair_burst: Positive = 45
    # Free-form messages need a message from the person in the last 24 hours: "async" accepts and then fails,
    # "sync" refuses; true is "async".
    window: bool | Literal["async", "sync"] = False
    tier: Count | None = None  # people to whom conversations may be opened in 24 hours; 0 is unlimited
    marketing: Count | None = None  # marketing templates that one person gets in 24 hours; the others fail with 131049
    tier_code: int = 131048  # the network documents no separate code for the tier
    ladder: tuple[Count, ...] = (2000, 10_000, 100_000, 0)  # the tiers a number rises through
    rise_after: Seconds = 6 * 3600.0  # from the use of half a tier to the next tier
    upgrade_users: Positive = 100_000  # opened in 24 hours, at the unlimited tier, for a higher throughput
    upgrade_seconds: Seconds = 60.0  # of maintenance while the throughput is raised
    unknown_context: Literal["ignore", "refuse", "fail"] = "ignore"  # a quoted message that is not known


class Callbacks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How updates are posted to a number's callback address."""

    batch_max: Annotated[int, Meta(ge=1, le=1000)] = 1
    batch_wait: Seconds = 0.05
    retry: tuple[Seconds, ...] = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
    timeout: Annotated[float, Meta(gt=0)] = 10.0  # real seconds: a socket does not know about the movable clock
    connections: Positive = 32
    version: Annotated[str, Meta(pattern=r"^v[0-9]+\.[0-9]+$")] = "v25.0"  # before v24 statuses have a conversation


class Pacing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holding marketing templates until their quality is known."""

    hold: Share = 0.0  # probability that a send is held
    seconds: Seconds = 3600.0
    drop: Share = 0.0  # probability that a held message is dropped and its template paused


class Management(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the management API and of template reviews."""

    calls_per_hour: Positive | None = 5000  # of one business account
    media_bytes: Positive = 512 * 1024 * 1024  # in total; beyond it the oldest files are removed
    templates: Positive = 250  # of one business account, each language counted
    template_creations_per_hour: Positive | None = 100
    review: Literal["auto", "manual"] = "auto"  # manual: only the control API approves and rejects
    review_delay: Seconds = 5.0
    reject_pattern: str = ""  # a regular expression; a template whose text matches it is rejected


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole configuration of one sandbox."""

    seed: int = 1
    start: float | None = None  # Unix seconds on the sandbox clock at start; None is the real time
    frozen: bool = False
    speed: Annotated[float, Meta(gt=0)] = 1.0
    delays: Delays = Delays()
    limits: Limits = Limits()
    callbacks: Callbacks = Callbacks()
    management: Management = Management()
    pacing: Pacing = Pacing()
    service_billed: bool = False  # whether free-form messages inside the window are billed
    throttle_status: Literal[400, 429] = 429  # the network's own pages disagree: 400 or 429
    default_character: CharacterName = "normal"
    echo_suffix: str = "5550123"  # people whose number ends with it reply "echo: …"; "" disables it
    user_ids: bool = True  # people without a profile have user ids too, as on the network since 2026
    ledger_cap: Positive = 1_000_000
    attempts_cap: Positive = 50_000


MESSAGING, MANAGEMENT = "whatsapp_business_messaging", "whatsapp_business_management"


class NumberSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A number as registered; delays, limits and callbacks hold only what differs from the global settings."""

    phone_number_id: Numeric
    phone: Phone
    token: Annotated[str, Meta(min_length=1)]
    app_secret: Annotated[str, Meta(min_length=1)]
    callback_url: str | None = None
    verify_token: str = ""
    name: str = "Sandbox Business"
    waba_id: Numeric = "102290129340398"
    app_id: Numeric = "634974688087057"
    business_id: Numeric = "506914307656634"
    quality_rating: str = "GREEN"
    status: str = "CONNECTED"
    delays: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    callbacks: dict[str, Any] = {}
    scopes: tuple[str, ...] = (MESSAGING, MANAGEMENT)  # permissions of the token


def merge(current: Tuned, patch: dict[str, Any]) -> Tuned:
    """Return the struct with some fields replaced and validated; nested structs are merged."""
    fields: dict[str, Any] = {name: getattr(current, name) for name in current.__struct_fields__}
    for name, value in patch.items():
        old = fields.get(name)
        fields[name] = merge(old, value) if isinstance(old, msgspec.Struct) and isinstance(value, dict) else value
    return msgspec.convert(msgspec.to_builtins(fields), type(current))
