"""Users as the command line shows them."""

from typing import Any

from gatepost.model import ids, times
from gatepost.store.accounts import User


def user_view(user: User) -> dict[str, Any]:
    """Return a user without the password."""
    return {
        "id": ids.format_id("usr", user.id),
        "account": ids.format_id("acc", user.account_id),
        "email": user.email,
        "role": user.role,
        "created_at": times.format_time(user.created_at),
    }
