"""The people of an account: list, invite, change the role, remove."""

from typing import Annotated

import msgspec
from msgspec import Meta

from gatepost.admin import one_time_links as links
from gatepost.admin import users as admin
from gatepost.admin.checks import NAME_MAX, read_id
from gatepost.api.account_channels import base_url
from gatepost.api.asgi import Request
from gatepost.api.context import Context, CurrentUser
from gatepost.api.contract.account import AccountUser, UserLink
from gatepost.api.idempotency import CreateOnce
from gatepost.api.responses import Created, Page
from gatepost.api.route import delete, get, patch, post
from gatepost.model.session import ROLES

_PATH = "/api/v1/account/users"
_ONE = _PATH + "/{user_id}"
RoleName = Annotated[str, Meta(description=f"One of {', '.join(ROLES)}.")]


class Invitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whom to invite."""

    email: Annotated[str, Meta(max_length=admin.EMAIL_MAX)]
    role: RoleName
    name: Annotated[str, Meta(max_length=NAME_MAX)] = ""


class RoleChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The new role of a person."""

    role: RoleName


@get(_PATH, access="session", summary="List the users of the account")
async def list_account_users(gateway: Context, user: CurrentUser) -> Page[AccountUser]:
    """All people of the account, the oldest first."""
    return Page([AccountUser.of(one) for one in await admin.list_users(gateway.db, user.account_id)])


@post(
    _PATH,
    access="session",
    role="owner",
    summary="Invite a user",
    message="Invitation created",
    errors=("wrong_state",),
    example={"email": "ben@example.com", "role": "agent"},
)
async def invite_account_user(
    body: Invitation, once: CreateOnce, request: Request, gateway: Context, user: CurrentUser
) -> Created[UserLink]:
    """Creates a person without a password, and a one-time link to set one. Only this response contains the link."""
    fields, base = msgspec.structs.asdict(body), base_url(gateway, request)
    now, actor = gateway.clock.now(), user.actor
    return await once.create(
        lambda again: links.invite_user(gateway.db, user.account_id, **fields, actor=actor, now=now, once=again),
        lambda link: UserLink.of(link, base),
        secret=True,
    )


@patch(
    _ONE,
    access="session",
    role="owner",
    summary="Change the role of a user",
    message="Role changed",
    errors=("last_owner",),
    example={"role": "reader"},
)
async def change_account_user(user_id: str, body: RoleChange, gateway: Context, user: CurrentUser) -> AccountUser:
    """Changes the role of a person, also in open sessions. The last owner stays one."""
    id_, now = read_id("usr", user_id), gateway.clock.now()
    changed = await admin.change_role(gateway.db, user.account_id, id_, body.role, actor=user.actor, now=now)
    gateway.sessions.forget()
    return AccountUser.of(changed)


@delete(_ONE, access="session", role="owner", summary="Remove a user", message="User removed", errors=("last_owner",))
async def delete_account_user(user_id: str, gateway: Context, user: CurrentUser) -> None:
    """Removes a person and ends all sessions of the person. The last owner stays."""
    id_, now = read_id("usr", user_id), gateway.clock.now()
    await admin.delete_user(gateway.db, user.account_id, id_, actor=user.actor, now=now)
    gateway.sessions.forget()


@post(_ONE + "/reset-link", access="session", role="owner", summary="Create a reset link", message="Link created")
async def create_account_reset_link(
    user_id: str, once: CreateOnce, request: Request, gateway: Context, user: CurrentUser
) -> Created[UserLink]:
    """Creates a one-time link to set a new password; one who has none yet is invited again. Earlier links end."""
    id_, base, now = read_id("usr", user_id), base_url(gateway, request), gateway.clock.now()
    account_id, actor = user.account_id, user.actor
    return await once.create(
        lambda again: links.create_reset_link(gateway.db, account_id, id_, actor=actor, now=now, once=again),
        lambda link: UserLink.of(link, base),
        secret=True,
    )
