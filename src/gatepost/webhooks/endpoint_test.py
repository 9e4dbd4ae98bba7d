"""A delivery to look at: an example event, signed and posted as a real one would be, and the whole of what came back.

It goes out at once, whatever state the endpoint is in; it is in no feed and no log, and is never tried again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.endpoint import DeliveryOptions
from gatepost.model.errors import invalid_field
from gatepost.model.event import ALL_TYPES, MESSAGE, ChannelRef, render_test
from gatepost.model.event_schema.examples import MAKERS, new_example
from gatepost.store.deliveries.queue import DueDelivery
from gatepost.webhooks.event_batch import DeliveryBody, build_body
from gatepost.webhooks.http_post import Poster, PostResult
from gatepost.webhooks.signature import Key, delivery_headers


class EndpointTest(msgspec.Struct, frozen=True):
    """One attempt, whole: what was sent, and what came back."""

    at: datetime
    url: str
    headers: dict[str, str]
    body: bytes
    answer: PostResult

    @property
    def delivered(self) -> bool:
        """Whether it would have counted as delivered."""
        return self.answer.status is not None and 200 <= self.answer.status < 300


def choose_type(wish: str | None, switched_on: Sequence[str]) -> str:
    """The type of the example: as asked for, or the first that the endpoint gets."""
    chosen = next(iter(switched_on), MESSAGE) if wish is None else wish
    if chosen not in ALL_TYPES:
        raise invalid_field("type", f"must be one of: {', '.join(ALL_TYPES)}")
    return chosen


def make_test_body(type_: str, channel: ChannelRef, options: DeliveryOptions, at: datetime) -> DeliveryBody:
    """An example of a type, as the endpoint wants its events: in its version, and in a batch of one if in batches."""
    event = new_example(type_, next(iter(MAKERS[type_])), ids.new_id(at))
    return build_body(options, [DueDelivery(event.id, render_test(event, channel, at).encode(), attempts=0)])


async def post_test(
    poster: Poster,
    channel_id: UUID,
    url: str,
    custom: Mapping[str, str],
    keys: Sequence[Key],
    body: DeliveryBody,
    at: datetime,
) -> EndpointTest:
    """Post it through the guard, with the endpoint's own headers and a signature of every key."""
    headers = delivery_headers(custom, keys, body.id, int(at.timestamp()), body.body)
    return EndpointTest(at, url, headers, body.body, await poster.post(url, headers, body.body, channel_id))
