"""Accounts, plans, API keys and callers, and the rules of access."""

import hashlib
import re
import secrets
import string
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.errors import Misconfigured, MissingScope, NoAccess, NotAuthenticated
from gatepost.model.event import ChannelRef
from gatepost.model.sender import sender_text

API_ACCESS = "API Access"
TRIAL_ENDED = f'The trial has ended. Add "{API_ACCESS}" to the account to keep using the API.'
SCOPES = ("send", "read", "manage", "mcp")
MCP = "mcp"
KEY_PREFIX = "gpk_"
_CHECK = 6  # digits of a key's checksum
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_KEY = re.compile(rf"{KEY_PREFIX}([\w-]{{43}})([0-9A-Za-z]{{{_CHECK}}}|)", re.ASCII)


Quota = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # as the database counts


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan with its quotas; None is unlimited."""

    title: str
    messages_per_month: Quota | None = None
    storage_bytes: Quota | None = None
    channels: Quota | None = None


def plan_of(plans: Mapping[str, Plan], name: str) -> Plan:
    """Return the plan of an account. The settings may not have it any more, or not on this node."""
    if name not in plans:
        raise Misconfigured(
            f'The plan "{name}" of this account is not in the settings of this gateway. The operator has to add it to '
            "them, or to choose another plan for the account."
        )
    return plans[name]


class Principal(msgspec.Struct, frozen=True, dict=True):
    """The credential of a request, and its scopes. The operator at the command line has no credential."""

    kind: Literal["key", "session", "mcp_key", "operator"]
    id: UUID
    scopes: frozenset[str]
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    user_id: UUID | None = None  # of a session
    label: str = ""  # the name of the key, or the name or e-mail address of the user

    @property
    def noun(self) -> str:
        """What it is, in messages."""
        return "key" if self.kind == "mcp_key" else self.kind

    @cached_property
    def sender_text(self) -> str:
        """The sender of its messages, as it is stored (`sender.py`)."""
        if self.user_id is not None:
            return sender_text("user", ids.format_id("usr", self.user_id), self.label)
        if self.kind == "operator":
            return sender_text("operator")
        return sender_text("key", ids.format_id("key", self.id), self.label)


class Caller(msgspec.Struct, frozen=True, dict=True):
    """A principal, the channel that it acts on, and the channel's account."""

    principal: Principal
    channel_id: UUID
    kind: str  # of the channel's network
    phone: str
    account_id: UUID
    plan: str
    suspended: bool
    api_access: bool
    trial_ends_at: datetime
    window: bool = True  # False if the operator allows free text outside the customer-service window

    @cached_property
    def ref(self) -> ChannelRef:
        """The channel as events show it."""
        return ChannelRef(ids.format_id("ch", self.channel_id), self.kind, self.phone)


def scope_warning(scopes: Sequence[str]) -> str | None:
    """Return what is unsafe about the scopes of an assistant's key; None if nothing is."""
    others = [scope for scope in scopes if scope != MCP]
    if MCP not in scopes or not others:
        return None
    return (
        f"Besides mcp, this key has {', '.join(others)}. The policy of the key does not apply to the REST API, where "
        "these scopes allow more. Give an assistant a key with only the scope mcp."
    )


def new_key() -> str:
    """Return a new API key: 256 random bits and their checksum."""
    random = secrets.token_urlsafe(32)
    return KEY_PREFIX + random + _checksum(random)


def is_key(text: str) -> bool:
    """Return whether a text has the form of an API key. Older keys have no checksum."""
    parts = _KEY.fullmatch(text)
    return parts is not None and parts[2] in ("", _checksum(parts[1]))


def _checksum(random: str) -> str:
    """Return the CRC-32 as six digits of base 62."""
    rest, digits = zlib.crc32(random.encode()), ""
    for _ in range(_CHECK):
        rest, digit = divmod(rest, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def key_hash(key: str) -> bytes:
    """Return the hash that is stored. Keys are random, so a plain SHA-256 is enough."""
    return hashlib.sha256(key.encode()).digest()


def check_key(caller: Caller | None, now: datetime) -> Caller:
    """Reject a key that does not exist, is revoked or has expired. The error does not say which."""
    if caller is None or _ended(caller.principal.revoked_at, now) or _ended(caller.principal.expires_at, now):
        raise NotAuthenticated("This API key is not valid. Create a new one with 'gatepost key create'.")
    return caller


def check_access(caller: Caller, now: datetime) -> None:
    """Reject a suspended account, and one whose trial has ended and that lacks the add-on."""
    if caller.suspended:
        raise NoAccess("This account is suspended. Ask the operator of this gateway.", "account_suspended")
    if not caller.api_access and now >= caller.trial_ends_at:
        raise NoAccess(TRIAL_ENDED)


def check_scope(caller: Caller, scope: str) -> None:
    if scope not in caller.principal.scopes:
        raise MissingScope(f"This key lacks the scope '{scope}'. Use a key that has it.")


def _ended(at: datetime | None, now: datetime) -> bool:
    return at is not None and now >= at
