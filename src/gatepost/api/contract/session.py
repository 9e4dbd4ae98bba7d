"""Sessions, two-factor authentication and one-time links in answers."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from gatepost.api.contract.fields import HEX, LATER, ApiObject, Time
from gatepost.model import ids, times
from gatepost.model.session import IDLE, Role, SignedInUser, csrf_token
from gatepost.store.one_time_links import OneTimeLink as LinkRow

AccountId = Annotated[str, Meta(examples=[f"acc_{HEX}"])]
UserId = Annotated[str, Meta(examples=[f"usr_{HEX}"])]
Email = Annotated[str, Meta(examples=["ana@example.com"])]
Plan = Annotated[str, Meta(examples=["starter"])]
Later = Annotated[Time, Meta(examples=[LATER])]
Scope = Literal["send", "read", "manage"]
Scopes = Annotated[list[Scope], Meta(examples=[["send", "read"]])]
CsrfToken = Annotated[
    str,
    Meta(
        description="To send as the header `Gatepost-CSRF` with every change.",
        examples=["Q0n2m2sQxgR5bXmE4n1oY0o3u6YkzPpF8x7Q2b1w9dA"],
    ),
]
_SCOPES: tuple[Scope, ...] = ("send", "read", "manage")


class SessionUser(ApiObject, frozen=True):
    """The person who is signed in."""

    id: UserId
    email: Email
    name: Annotated[str, Meta(examples=["Ana Maria"])]
    role: Annotated[Role, Meta(examples=["agent"])]
    totp: Annotated[bool, Meta(description="Whether two-factor authentication is on.", examples=[True])]


class SessionAccount(ApiObject, frozen=True):
    """The account of the person."""

    id: AccountId
    name: Annotated[str, Meta(examples=["Small shop"])]
    plan: Plan
    suspended: Annotated[bool, Meta(examples=[False])]
    trial_ends_at: Later
    api_access: Annotated[bool, Meta(description='Whether the account has the add-on "API Access".', examples=[True])]


class Session(ApiObject, frozen=True):
    """A session: who is signed in, and until when."""

    user: SessionUser
    account: SessionAccount
    scopes: Scopes
    csrf_token: CsrfToken
    created_at: Time
    expires_at: Annotated[Later, Meta(description="When it ends in any case.")]
    idle_expires_at: Annotated[Later, Meta(description="When it ends if it is not used.")]
    now: Annotated[Time, Meta(description="The time of the gateway.")]

    @classmethod
    def of(cls, user: SignedInUser, token: str, now: datetime) -> "Session":
        """Return a session by its token, used now."""
        return cls(
            SessionUser(ids.format_id("usr", user.user_id), user.email, user.name, user.role, user.totp),
            SessionAccount(
                ids.format_id("acc", user.account_id),
                user.account_name,
                user.plan,
                user.suspended,
                times.format_time(user.trial_ends_at),
                user.api_access,
            ),
            [scope for scope in _SCOPES if scope in user.principal.scopes],
            csrf_token(token),
            times.format_time(user.created_at),
            times.format_time(user.expires_at),
            times.format_time(min(now + IDLE, user.expires_at)),
            times.format_time(now),
        )


class EndedSessions(ApiObject, frozen=True):
    """How many sessions were ended."""

    ended: Annotated[int, Meta(examples=[1])]


class TotpSetup(ApiObject, frozen=True):
    """A secret for an authenticator app, and the address for its QR code."""

    secret: Annotated[str, Meta(examples=["JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"])]
    uri: Annotated[
        str, Meta(examples=["otpauth://totp/Gatepost:ana%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=Gatepost"])
    ]


class RecoveryCodes(ApiObject, frozen=True):
    """Ten codes for people who lose their app. Each is valid once."""

    recovery_codes: Annotated[list[str], Meta(examples=[["k3df-7q2m-ab5c-x6yz"]])]


class OneTimeLink(ApiObject, frozen=True):
    """A valid link to set a password."""

    purpose: Annotated[Literal["invitation", "password_reset"], Meta(examples=["invitation"])]
    email: Email
    account_name: Annotated[str, Meta(examples=["Small shop"])]
    role: Annotated[Role, Meta(examples=["agent"])]
    expires_at: Later

    @classmethod
    def of(cls, row: LinkRow) -> "OneTimeLink":
        """Return the link."""
        return cls(row.purpose, row.email, row.account_name, row.role, times.format_time(row.expires_at))
