"""The saved views of users, one list for each."""

from uuid import UUID

import msgspec

from gatepost.model.saved_view import SavedView
from gatepost.store.pool import Database

_views = msgspec.json.Decoder(list[SavedView])


async def read_views(db: Database, user_id: UUID) -> list[SavedView]:
    """Return the views of a user, in the user's order."""
    stored: str | None = await db.fetchval("SELECT saved_views::text FROM users WHERE id = $1", user_id)
    return _views.decode(stored) if stored else []


async def replace_views(db: Database, user_id: UUID, views: list[SavedView]) -> None:
    """Replace all views of a user."""
    await db.execute(
        "UPDATE users SET saved_views = $2::text::jsonb WHERE id = $1", user_id, msgspec.json.encode(views).decode()
    )
