"""Signing in and out, and what a signed-in person changes about themselves."""

from typing import Annotated

import msgspec
from msgspec import Meta

from gatepost.admin import sign_in as service
from gatepost.admin import totp
from gatepost.admin.passwords import PASSWORD_MAX
from gatepost.admin.users import EMAIL_MAX
from gatepost.api.admission import client_address, read_headers, read_visit
from gatepost.api.asgi import Request
from gatepost.api.context import ApiContext, Context, CurrentUser
from gatepost.api.contract.session import EndedSessions, RecoveryCodes, Session, TotpSetup
from gatepost.api.query import Query
from gatepost.api.responses import SECRET, Created, Reply
from gatepost.api.route import delete, get, post, put
from gatepost.model.session import SignedInUser
from gatepost.store.users import User

_PATH = "/api/v1/session"
_TOTP = _PATH + "/totp"
Email = Annotated[str, Meta(max_length=EMAIL_MAX)]
Password = Annotated[str, Meta(max_length=PASSWORD_MAX)]
Code = Annotated[str, Meta(max_length=40, description="A code of the authenticator app, or a recovery code.")]
_PROVEN = ("invalid_credentials", "rate_limited", "overloaded")  # errors of routes that take the password again


class SignIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who signs in. The code is needed if two-factor authentication is on."""

    email: Email
    password: Password
    code: Code | None = None


class PasswordChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The password so far, and the new one."""

    current_password: Password
    new_password: Password


class PasswordCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The password, to prove who asks."""

    password: Password


class TotpCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A code of the authenticator app."""

    code: Code


class SignOut(Query, frozen=True, kw_only=True):
    """Which sessions end."""

    everywhere: Annotated[bool, Meta(description="End all sessions of the user, not only this one.")] = False


@post(
    _PATH,
    summary="Sign in",
    message="Signed in",
    errors=("invalid_credentials", "code_required", "invalid_code", "wrong_origin", "rate_limited", "overloaded"),
    example={"email": "ana@example.com", "password": "correct horse battery"},
)
async def sign_in(body: SignIn, request: Request, gateway: Context) -> Created[Session]:
    """Begins a session and sets its cookie. The token of an earlier session is never taken over."""
    visit, now = read_visit(gateway, request.scope), gateway.clock.now()
    with gateway.sign_ins.trying(body.email, visit.address):
        token = await service.sign_in(
            gateway.db, gateway.vault, gateway.failures, body.email, body.password, body.code, visit, now
        )
    return await begin(gateway, token)


@get(_PATH, access="session", while_suspended=True, summary="Get the session")
async def get_session(request: Request, gateway: Context, user: CurrentUser) -> Reply[Session]:
    """Who is signed in, and the CSRF token that changes need."""
    return Reply(Session.of(user, _token(request, gateway), gateway.clock.now()), headers=SECRET)


@delete(_PATH, access="session", while_suspended=True, summary="Sign out", message="Signed out")
async def sign_out(query: SignOut, gateway: Context, user: CurrentUser) -> Reply[EndedSessions]:
    """Ends this session, or all sessions of the user, and clears the cookie."""
    ended = await service.sign_out(gateway.db, user, everywhere=query.everywhere, now=gateway.clock.now())
    gateway.sessions.forget()
    return Reply(EndedSessions(ended), headers={"Set-Cookie": gateway.cookie.clear()})


@put(
    _PATH + "/password",
    access="session",
    while_suspended=True,
    summary="Change one's password",
    message="Password changed",
    errors=_PROVEN,
    example={"current_password": "correct horse battery", "new_password": "staple of the new horse"},
)
async def change_password(
    body: PasswordChange, request: Request, gateway: Context, user: CurrentUser
) -> Reply[Session]:
    """Ends the other sessions of the user, and gives this one a new token and a new CSRF token."""
    with gateway.sign_ins.trying(user.email, _address(request, gateway)):
        token = await service.change_own_password(
            gateway.db, gateway.failures, user, body.current_password, body.new_password, gateway.clock.now()
        )
    return await continued(gateway, token)


@post(
    _TOTP,
    access="session",
    while_suspended=True,
    summary="Set up two-factor authentication",
    errors=(*_PROVEN, "wrong_state"),
    example={"password": "correct horse battery"},
)
async def begin_totp(body: PasswordCheck, request: Request, gateway: Context, user: CurrentUser) -> Reply[TotpSetup]:
    """Returns a secret for an authenticator app. It has no effect until it is confirmed with a code."""
    stored = await _proven(request, gateway, user, body.password)
    made = await totp.begin_totp(gateway.db, gateway.vault, stored)
    return Reply(TotpSetup(made.secret, made.uri), headers=SECRET)


@post(
    _TOTP + "/confirm",
    access="session",
    while_suspended=True,
    summary="Confirm two-factor authentication",
    message="Two-factor authentication is on",
    errors=("invalid_code", "wrong_state"),
    example={"code": "123456"},
)
async def confirm_totp(body: TotpCode, gateway: Context, user: CurrentUser) -> Reply[RecoveryCodes]:
    """Turns it on with a code of the app, and returns the recovery codes this once."""
    stored = await service.find_user(gateway.db, user.user_id)
    codes = await totp.confirm_totp(gateway.db, gateway.vault, stored, body.code, gateway.clock.now())
    gateway.sessions.forget()
    return Reply(RecoveryCodes(codes), headers=SECRET)


@post(
    _TOTP + "/recovery-codes",
    access="session",
    while_suspended=True,
    summary="Replace the recovery codes",
    message="Recovery codes replaced",
    errors=(*_PROVEN, "wrong_state"),
    example={"password": "correct horse battery"},
)
async def replace_recovery_codes(
    body: PasswordCheck, request: Request, gateway: Context, user: CurrentUser
) -> Reply[RecoveryCodes]:
    """Returns ten new recovery codes this once; the old ones become invalid."""
    stored = await _proven(request, gateway, user, body.password)
    codes = await totp.replace_recovery_codes(gateway.db, stored, gateway.clock.now())
    return Reply(RecoveryCodes(codes), headers=SECRET)


@delete(
    _TOTP,
    access="session",
    while_suspended=True,
    summary="Turn off two-factor authentication",
    message="Two-factor authentication is off",
    errors=(*_PROVEN, "wrong_state"),
    example={"password": "correct horse battery"},
)
async def remove_totp(body: PasswordCheck, request: Request, gateway: Context, user: CurrentUser) -> None:
    """Removes the secret and the recovery codes."""
    stored = await _proven(request, gateway, user, body.password)
    await totp.remove_totp(gateway.db, stored, actor=user.actor, now=gateway.clock.now())
    gateway.sessions.forget()


async def begin(gateway: ApiContext, token: str) -> Created[Session]:
    """Return the answer that begins a session."""
    reply = await continued(gateway, token)
    return Created(reply.data, headers=reply.headers)


async def continued(gateway: ApiContext, token: str) -> Reply[Session]:
    """Return a session with the cookie of its new token."""
    gateway.sessions.forget()
    user = await service.read_session(gateway.db, token)
    now = gateway.clock.now()
    cookie = gateway.cookie.set(token, user.expires_at - now)
    return Reply(Session.of(user, token, now), headers=SECRET | {"Set-Cookie": cookie})


async def _proven(request: Request, gateway: ApiContext, user: SignedInUser, password: str) -> User:
    """Return the stored user of a session if the password is correct."""
    with gateway.sign_ins.trying(user.email, _address(request, gateway)):
        return await service.check_own_password(gateway.db, gateway.failures, user, password, gateway.clock.now())


def _address(request: Request, gateway: ApiContext) -> str | None:
    return client_address(gateway, request.scope, read_headers(request.scope))


def _token(request: Request, gateway: ApiContext) -> str:
    return gateway.cookie.token_in(request.headers.get("cookie")) or ""
