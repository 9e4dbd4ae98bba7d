"""Who is looking at a conversation, or typing in it: sent to the other people of the account, never stored."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatepost.access.sliding_limit import MINUTE, SlidingLimit
from gatepost.api.context import Context, CurrentUser
from gatepost.api.route import put
from gatepost.model import ids
from gatepost.model.errors import LimitReached, LimitState, NotFound
from gatepost.model.session import SignedInUser
from gatepost.services.presence_board import NAME_MAX
from gatepost.store.notifications import Presence, announce

PRESENCES = 120  # of one user in a minute


class PresenceChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the person is."""

    channel: Annotated[str, Meta(description="The channel of the conversation, ch_….")]
    conversation: Annotated[str, Meta(description="The conversation, cv_….")]
    state: Annotated[
        Literal["viewing", "typing", "gone"],
        Meta(description="`viewing` expires after 90 seconds, `typing` after 10, unless it is repeated."),
    ]


@put(
    "/api/v1/account/presence",
    access="session",
    summary="Say where you are",
    example={"channel": "ch_" + "0" * 32, "conversation": "cv_" + "0" * 32, "state": "viewing"},
)
async def put_presence(body: PresenceChange, gateway: Context, user: CurrentUser) -> None:
    """Tells the other people of the account which conversation you look at or type in, by the stream of the account."""
    presence = _presence(body, user)
    _count(gateway.presences, user)
    if not await announce(gateway.db, presence):
        raise _not_found()


def _presence(body: PresenceChange, user: SignedInUser) -> Presence:
    channel_id, contact_id = ids.parse_id("ch", body.channel), ids.parse_id("cv", body.conversation)
    if channel_id is None or contact_id is None:
        raise _not_found()
    name = (user.name or user.email)[:NAME_MAX]
    return Presence(user.account_id, user.user_id, name, channel_id, contact_id, body.state)


def _count(limit: SlidingLimit, user: SignedInUser) -> None:
    wait = limit.take(user.user_id)
    if wait:
        raise LimitReached(
            f"You said where you are {limit.limit} times in a minute. Wait as long as Retry-After says.",
            retry_after=wait,
            limit=LimitState("presence", limit.limit, int(MINUTE), 0, int(wait) + 1),
        )


def _not_found() -> NotFound:
    return NotFound("Your account has no such conversation.")
