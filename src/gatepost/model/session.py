"""People who sign in: their roles, their sessions, and the rules of what a session may do.

token          256 random bits, in the cookie; only its SHA-256 is stored
CSRF token     an HMAC of the token: a page of the gateway can read it, a page of another site cannot
ends           12 hours after its last use, 30 days after it began, or when it is deleted
"""

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from datetime import datetime, timedelta
from typing import Literal, get_args
from uuid import UUID

import msgspec

from gatepost.model.account import TRIAL_ENDED, Caller, Principal
from gatepost.model.account_log import Actor
from gatepost.model.errors import Forbidden, MissingScope, NoAccess, NotAuthenticated

Role = Literal["owner", "agent", "reader"]
ROLES: tuple[Role, ...] = get_args(Role)
ROLE_SCOPES = {
    "owner": frozenset(("send", "read", "manage")),
    "agent": frozenset(("send", "read")),
    "reader": frozenset(("read",)),
}
IDLE = timedelta(hours=12)
LIFETIME = timedelta(days=30)
_TOKEN = re.compile(r"[\w-]{43}", re.ASCII)


class SignedInUser(msgspec.Struct, frozen=True):
    """A person who is signed in, with the account and the session."""

    principal: Principal
    user_id: UUID
    email: str
    name: str
    role: Role
    totp: bool  # whether signing in takes a code
    account_id: UUID
    account_name: str
    plan: str
    suspended: bool
    trial_ends_at: datetime
    api_access: bool
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime

    @property
    def idle_expires_at(self) -> datetime:
        """When the session ends if it is not used."""
        return min(self.last_used_at + IDLE, self.expires_at)

    @property
    def actor(self) -> Actor:
        """The person in the log of the account."""
        return Actor("user", self.user_id, self.email)

    def caller_on(self, channel: "ChannelAccess | None") -> Caller | None:
        """Return the person as the caller on a channel of the account; None for another one."""
        if channel is None or channel.account_id != self.account_id:
            return None
        return Caller(
            self.principal,
            channel.id,
            channel.kind,
            channel.phone,
            self.account_id,
            self.plan,
            self.suspended,
            self.api_access,
            self.trial_ends_at,
            channel.window,
        )


class ChannelAccess(msgspec.Struct, frozen=True):
    """What of a channel decides about requests."""

    id: UUID
    account_id: UUID
    kind: str
    phone: str
    window: bool


class SessionAccess(msgspec.Struct, frozen=True):
    """A session, and the caller on the channel that a request names; None if the account has no such channel."""

    user: SignedInUser
    caller: Caller | None


class AccessRule(msgspec.Struct, frozen=True):
    """What a route requires. A route with a scope takes keys and sessions, one without only sessions."""

    scope: str | None = None
    role: Role | None = None  # None: any role
    while_suspended: bool = False  # whether sessions of a suspended account may use it
    channel_in_query: bool = False  # whether a session may name its channel in the query: for what browsers fetch
    agents: bool = False  # whether agents may use it although they lack its scope: their daily work

    def is_open_to(self, user: SignedInUser) -> bool:
        """Return whether the user has the scope, or needs none as an agent."""
        return self.scope is None or self.scope in user.principal.scopes or (self.agents and user.role == "agent")


def new_token() -> str:
    """Return the token of a session or a one-time link."""
    return secrets.token_urlsafe(32)


def is_token(text: str) -> bool:
    """Return whether a text has the form of a token."""
    return _TOKEN.fullmatch(text) is not None


def token_hash(token: str) -> bytes:
    """Return the hash that is stored. Tokens are random, so a plain SHA-256 is enough."""
    return hashlib.sha256(token.encode()).digest()


def csrf_token(token: str) -> str:
    """Return the CSRF token of a session."""
    digest = hmac.digest(token.encode(), b"gatepost csrf", "sha256")
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def check_csrf_token(token: str, given: str | None) -> None:
    """Reject a change without the CSRF token of the session."""
    if given is None or not hmac.compare_digest(csrf_token(token).encode(), given.encode()):
        raise Forbidden(
            "The header 'Gatepost-CSRF' must be the 'csrf_token' of GET /api/v1/session. Read it again.", "csrf_failed"
        )


def session_ended() -> NotAuthenticated:
    return NotAuthenticated("You are not signed in, or your session has ended. Sign in.", "session_ended")


def check_session(user: SignedInUser | None, now: datetime) -> SignedInUser:
    """Reject a session that does not exist, was not used for too long or is too old. The error does not say which."""
    if user is None or now >= user.idle_expires_at:
        raise session_ended()
    return user


def check_rule(user: SignedInUser, rule: AccessRule, now: datetime) -> None:
    """Reject a request that the account, or the role of the user, does not allow."""
    if user.suspended and not rule.while_suspended:
        raise NoAccess("This account is suspended. Ask the operator of this gateway.", "account_suspended")
    if rule.role is not None and user.role != rule.role:
        raise Forbidden(f"Only an {rule.role} of the account may do this. Your role is {user.role}.", "missing_role")
    if not rule.is_open_to(user):
        raise MissingScope(f"Your role, {user.role}, lacks the scope '{rule.scope}'. Ask an owner of the account.")
    if rule.scope == "send" and not user.api_access and now >= user.trial_ends_at:
        raise NoAccess(TRIAL_ENDED)
