"""Users, links and sessions as the command line shows them."""

from typing import Any

import msgspec

from gatepost.admin.one_time_links import NewLink
from gatepost.api.contract.account import AccountUser, UserLink
from gatepost.model import ids, times
from gatepost.store.sessions import StoredSession
from gatepost.store.users import User

View = dict[str, Any]


def user_view(user: User) -> View:
    """Return a user without the password."""
    view: View = msgspec.to_builtins(AccountUser.of(user))
    return view


def link_view(link: NewLink, base: str) -> View:
    """Return a one-time link, which is shown only once."""
    view: View = msgspec.to_builtins(UserLink.of(link, base))
    return view


def session_view(session: StoredSession) -> View:
    """Return a session without the token."""
    return {
        "id": ids.format_id("ses", session.id),
        "created_at": times.format_time(session.created_at),
        "last_used_at": times.format_time(session.last_used_at),
        "expires_at": times.format_time(session.expires_at),
        "address": session.address,
        "user_agent": session.user_agent,
    }
