"""Test deliveries: an example event, signed and posted like a real one, and the full response.

A test is posted at once, whatever the state of the endpoint; it is in no feed and in no log, and is never retried.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.endpoint import DeliveryOptions
from gatepost.model.errors import invalid_field
from gatepost.model.event import ALL_TYPES, MESSAGE, ChannelRef, render_test
from gatepost.model.event.catalog import EVENTS
from gatepost.model.event.schema import new_example
from gatepost.model.signing import Key
from gatepost.store.deliveries.queue import DueDelivery
from gatepost.webhooks.event_batch import DeliveryBody, build_body
from gatepost.webhooks.http_post import Poster, PostResult
from gatepost.webhooks.signature import delivery_headers


class EndpointTest(msgspec.Struct, frozen=True):
    """What was sent, and the full response."""

    at: datetime
    url: str
    headers: dict[str, str]
    body: bytes
    response: PostResult

    @property
    def delivered(self) -> bool:
        """Whether a real delivery would have succeeded."""
        return self.response.status is not None and 200 <= self.response.status < 300


def choose_type(requested: str | None, enabled: Sequence[str]) -> str:
    """Return the type of the example: the requested one, or the first that the endpoint gets."""
    chosen = next(iter(enabled), MESSAGE) if requested is None else requested
    if chosen not in ALL_TYPES:
        raise invalid_field("type", f"must be one of: {', '.join(ALL_TYPES)}")
    return chosen


def make_test_body(type_: str, channel: ChannelRef, options: DeliveryOptions, at: datetime) -> DeliveryBody:
    """Return an example with the options of the endpoint: in its version, and in a batch of one if it takes batches."""
    event = new_example(type_, next(iter(EVENTS[type_])), ids.new_id(at))
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
    """Post a test through the guard, with the endpoint's own headers and a signature of every key."""
    headers = delivery_headers(custom, keys, body.id, int(at.timestamp()), body.body)
    return EndpointTest(at, url, headers, body.body, await poster.post(url, headers, body.body, channel_id))
