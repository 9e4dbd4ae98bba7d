"""The views of the inbox that a person keeps."""

from typing import Annotated

import msgspec
from msgspec import Meta

from gatepost.api.context import Context, CurrentUser
from gatepost.api.responses import Page
from gatepost.api.route import get, put
from gatepost.model.saved_view import VIEWS_MAX, SavedView, check_views
from gatepost.store import users as store

_PATH = "/api/v1/session/views"


class SavedViews(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All views of a person, in the order in which they are shown."""

    views: Annotated[list[SavedView], Meta(max_length=VIEWS_MAX)]


@get(_PATH, access="session", summary="List one's saved views")
async def list_views(gateway: Context, user: CurrentUser) -> Page[SavedView]:
    """The views of the inbox that the person has saved. Nobody else sees them."""
    return Page(await store.read_views(gateway.db, user.user_id))


@put(
    _PATH,
    access="session",
    summary="Replace one's saved views",
    message="Views saved",
    example={"views": [{"name": "VIP, unread", "view": "unread", "label": "VIP"}]},
)
async def replace_views(body: SavedViews, gateway: Context, user: CurrentUser) -> list[SavedView]:
    """Replaces all saved views of the person."""
    check_views(body.views)
    await store.replace_views(gateway.db, user.user_id, body.views)
    return await store.read_views(gateway.db, user.user_id)
