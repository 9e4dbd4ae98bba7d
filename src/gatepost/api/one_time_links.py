"""One-time links: an invitation, or a reset of a password."""

from typing import Annotated

import msgspec
from msgspec import Meta

from gatepost.admin import one_time_links as service
from gatepost.admin.checks import NAME_MAX
from gatepost.admin.passwords import PASSWORD_MAX
from gatepost.admin.sign_in import begin_session
from gatepost.api.admission import client_address, read_headers, read_visit
from gatepost.api.asgi import Request
from gatepost.api.context import ApiContext, Context
from gatepost.api.contract.session import OneTimeLink, Session
from gatepost.api.responses import SECRET, Created, Reply
from gatepost.api.route import get, post
from gatepost.api.session import begin
from gatepost.model.errors import NotFound
from gatepost.store.one_time_links import OneTimeLink as LinkRow

_ONE = "/api/v1/one-time-links/{token}"


class LinkUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The password to set, and the name of the person."""

    password: Annotated[str, Meta(max_length=PASSWORD_MAX)]
    name: Annotated[str, Meta(max_length=NAME_MAX)] | None = None


@get(_ONE, summary="Look at a one-time link", errors=("link_not_valid", "rate_limited"))
async def get_link(token: str, request: Request, gateway: Context) -> Reply[OneTimeLink]:
    """What the link is for. It stays valid."""
    return Reply(OneTimeLink.of(await _read(gateway, request, token)), headers=SECRET)


@post(
    _ONE,
    summary="Use a one-time link",
    message="Password set",
    errors=("link_not_valid", "wrong_origin", "rate_limited", "overloaded"),
    example={"password": "correct horse battery", "name": "Ana Maria"},
    extra={200: None},
)
async def use_link(token: str, body: LinkUse, request: Request, gateway: Context) -> Created[Session]:
    """Sets the password and signs in, with status 201. If two-factor authentication is on, the status is 200 without
    a session: sign in with the password and a code."""
    visit, now = read_visit(gateway, request.scope), gateway.clock.now()
    await _read(gateway, request, token)
    user = await service.use_link(gateway.db, token, body.password, body.name, now)
    if user.totp_active:
        return Created(None, "Password set. Sign in with it and a code.", 200)  # type: ignore[arg-type]
    return await begin(gateway, await begin_session(gateway.db, user, visit, now))


async def _read(gateway: ApiContext, request: Request, token: str) -> LinkRow:
    try:
        return await service.read_link(gateway.db, token, gateway.clock.now())
    except NotFound:
        gateway.wrong.count(client_address(gateway, request.scope, read_headers(request.scope)))
        raise
