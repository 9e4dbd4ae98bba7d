"""The feed: all events of a channel, in order and without a gap. A receiver that was down catches up here."""

from typing import Any

import msgspec
from litestar import Request, Response, get

from gatepost.api.body import answer
from gatepost.api.gateway import Door, Who
from gatepost.api.paging import check_query, read_limit
from gatepost.model import ids
from gatepost.model.errors import BadRequest, invalid_field
from gatepost.model.event import TYPES
from gatepost.store.events import read_feed


@get("/api/v1/events", opt={"scope": "read"}, summary="Read the event feed")
async def list_events(request: Request[Any, Any, Any], gateway: Door, caller: Who) -> Response[bytes]:
    """Events after a cursor, the oldest first. `paging.next` is where to go on, also when there is nothing new."""
    query = check_query(request.query_params, "after", "types", "limit")
    after = query.get("after")
    cursor = ids.ZERO if after is None else ids.read("evt", after)
    if cursor is None:
        raise BadRequest("'after' must be the id of an event, or 'paging.next' of the last page.", "invalid_cursor")
    types = _types(query.get("types"))
    limit = read_limit(query.get("limit"))
    found = await read_feed(gateway.db, caller.channel_id, cursor, types, limit)
    following = ids.show("evt", found[-1].id) if found else after
    return answer([msgspec.Raw(event.body.encode()) for event in found], paging=following)


def _types(text: str | None) -> list[str] | None:
    if text is None:
        return None
    wanted = [name.strip() for name in text.split(",")]
    unknown = [name for name in wanted if name not in TYPES]
    if unknown:
        raise invalid_field("types", f"'{unknown[0]}' is not an event type; there are: {', '.join(TYPES)}")
    return wanted
