"""One-time links: a person who was invited, or has lost the password, sets one."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from gatepost.admin.checks import check_found, check_name
from gatepost.admin.passwords import check_password, hash_password
from gatepost.admin.users import get_user, new_user, user_entry
from gatepost.model.account_log import OPERATOR, Actor, LogEntry, new_entry
from gatepost.model.errors import NotFound
from gatepost.model.session import is_token, new_token, token_hash
from gatepost.store import one_time_links as store
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.one_time_links import OneTimeLink, Purpose
from gatepost.store.pool import Database
from gatepost.store.users import User

LIVES: dict[Purpose, timedelta] = {"invitation": timedelta(days=7), "password_reset": timedelta(hours=24)}
_ACTIONS: dict[Purpose, tuple[str, str]] = {
    "invitation": ("invitation_created", "invitation_accepted"),
    "password_reset": ("reset_link_created", "reset_link_used"),
}


class NewLink(msgspec.Struct, frozen=True):
    """A link and its token, which is shown only once."""

    user: User
    purpose: Purpose
    token: str
    expires_at: datetime

    def url(self, base: str) -> str:
        """Return the address of the page where the link is used."""
        return f"{base.rstrip('/')}/link/{self.token}"


async def invite_user(
    db: Database,
    account_id: UUID,
    email: str,
    *,
    role: str,
    name: str = "",
    actor: Actor,
    now: datetime,
    once: IdempotentRequest[NewLink] = NEVER,
) -> NewLink:
    """Create a user without a password, and a link to set one."""
    user = new_user(account_id, email, role=role, name=name, now=now)
    new = user, user_entry(user, actor, "user_created", now, role=role)
    return await _make_link(db, user, "invitation", actor, now, new=new, once=once)


async def create_reset_link(
    db: Database,
    account_id: UUID,
    user_id: UUID,
    *,
    actor: Actor = OPERATOR,
    now: datetime,
    once: IdempotentRequest[NewLink] = NEVER,
) -> NewLink:
    """Create a link to set a new password; one who has none yet is invited again. Earlier links become invalid."""
    user = await get_user(db, account_id, user_id)
    return await _make_link(db, user, "password_reset" if user.password_hash else "invitation", actor, now, once=once)


async def read_link(db: Database, token: str, now: datetime) -> OneTimeLink:
    """Return a valid link, or raise NotFound."""
    link = await store.find_link(db, token_hash(token), now) if is_token(token) else None
    if link is None:
        raise _not_valid()
    return link


async def use_link(db: Database, token: str, password: str, name: str | None, now: datetime) -> User:
    """Set the password of the link's user, and return the user as stored then. The link is used up."""
    link = await read_link(db, token, now)
    check_password(password)
    chosen = check_name(name) if name else None
    actor = Actor("user", link.user_id, link.email)
    entry = new_entry(link.account_id, actor, _ACTIONS[link.purpose][1], now, target=link.email)
    user = await store.use_link(db, token_hash(token), await hash_password(password), chosen, now, entry)
    if user is None:
        raise _not_valid()
    return user


async def _make_link(
    db: Database,
    user: User,
    purpose: Purpose,
    actor: Actor,
    now: datetime,
    *,
    new: tuple[User, LogEntry] | None = None,
    once: IdempotentRequest[NewLink],
) -> NewLink:
    link = NewLink(user, purpose, new_token(), now + LIVES[purpose])
    made = await store.insert_link(
        db,
        token_hash(link.token),
        user.id,
        purpose,
        created_at=now,
        expires_at=link.expires_at,
        entry=user_entry(user, actor, _ACTIONS[purpose][0], now),
        new=new,
        once=once.through(lambda _: link),
    )
    check_found(made, "acc", user.account_id)
    return link


def _not_valid() -> NotFound:
    return NotFound(
        "This link is not valid: it was used, has expired, or was replaced. Ask for a new one.", "link_not_valid"
    )
