"""A test event: sent to an endpoint at once, whatever its state, and answered with the whole attempt."""

from typing import Annotated

import msgspec

from gatepost.access.sliding_limit import MINUTE, SlidingLimit
from gatepost.admin import endpoints as admin
from gatepost.admin.signing import live_secrets
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.webhooks import Trial
from gatepost.api.responses import Reply
from gatepost.api.route import post
from gatepost.api.webhooks import PATH, read_endpoint_id
from gatepost.model.account import Caller
from gatepost.model.errors import LimitReached, LimitState
from gatepost.model.event import ALL_TYPES
from gatepost.model.signing import decode_secret
from gatepost.store.endpoints import Endpoint
from gatepost.webhooks.endpoint_test import EndpointTest, choose_type, make_test_body, post_test

TRIALS = 10  # to one endpoint in a minute
EventType = Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(ALL_TYPES)})]


class TrialRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The type of the example event. The default is the first type that the endpoint gets."""

    type: EventType | None = None


@post(
    PATH + "/{endpoint_id}/test",
    scope="manage",
    summary="Send a test event",
    message="Delivered",
    body_required=False,
    example={"type": "message_notification"},
    operation_id="webhook_trial_try_webhook",
)
async def try_webhook(endpoint_id: str, body: TrialRequest, gateway: Context, caller: CurrentCaller) -> Reply[Trial]:
    """Sends a signed example event to the endpoint, even if it is paused or disabled, and returns the attempt."""
    endpoint = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    type_ = choose_type(body.type, endpoint.events)
    _count(gateway.trials, endpoint)
    test = await _test(gateway, caller, endpoint, type_)
    return Reply(Trial.of(test), None if test.delivered else "Not delivered")


def _count(trials: SlidingLimit, endpoint: Endpoint) -> None:
    """Limit test events: each is a request to another server, at once and beyond the endpoint's own rate limit."""
    wait = trials.take(endpoint.id)
    if wait:
        raise LimitReached(
            f"This webhook has had {trials.limit} test events in a minute. Wait as long as Retry-After says; to try "
            "a receiver with many events, send messages in the sandbox.",
            retry_after=wait,
            limit=LimitState("webhook-test", trials.limit, int(MINUTE), 0, int(wait) + 1),
        )


async def _test(gateway: ApiContext, caller: Caller, endpoint: Endpoint, type_: str) -> EndpointTest:
    now = gateway.clock.now()
    live = live_secrets(admin.signing_secrets(gateway.vault, endpoint), now)
    keys = [decode_secret(one.secret) for one in live]
    body = make_test_body(type_, caller.ref, endpoint.options, now)
    headers = admin.headers_of(gateway.vault, endpoint)
    return await post_test(gateway.poster, caller.channel_id, endpoint.url, headers, keys, body, now)
