"""A test event: posted at once to an endpoint, in whatever state that is, and answered with the whole attempt."""

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, post
from litestar.params import FromPath

from gatepost.access.minute_limit import MINUTE, MinuteLimit
from gatepost.admin import endpoints as admin
from gatepost.admin.signing import live_secrets
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.json_body import answer, read_body
from gatepost.api.webhooks import PATH, read_endpoint_id
from gatepost.model import ids, times
from gatepost.model.account import Caller
from gatepost.model.errors import LimitReached, LimitState
from gatepost.model.event import ALL_TYPES, ChannelRef
from gatepost.store.endpoints import Endpoint
from gatepost.webhooks.endpoint_test import EndpointTest, choose_type, make_test_body, post_test
from gatepost.webhooks.signature import decode_secret

TRIALS = 10  # to one endpoint in a minute
EventType = Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(ALL_TYPES)})]


class WebhookTestRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the example is to tell of; left out: the first type that the endpoint gets."""

    type: EventType | None = None


_test = msgspec.json.Decoder(WebhookTestRequest)


@post(PATH + "/{endpoint_id:str}/test", opt={"scope": "manage"}, status_code=200, summary="Send a test event")
async def try_webhook(
    endpoint_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Posts a signed example event to the endpoint, paused or disabled as well, and answers with the attempt."""
    body, _ = await read_body(request, _test)
    endpoint = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    type_ = choose_type(body.type, endpoint.events)
    _count(gateway.trials, endpoint)
    trial = await _try(gateway, caller, endpoint, type_)
    return answer(show_trial(trial), "Delivered" if trial.delivered else "Not delivered")


def _count(trials: MinuteLimit, endpoint: Endpoint) -> None:
    """Each one is a request to somebody else's server, at once and past the endpoint's own rate."""
    wait = trials.take(endpoint.id)
    if wait:
        raise LimitReached(
            f"This webhook has had {trials.limit} test events in a minute. Wait as long as Retry-After says; to try "
            "a receiver with many events, send messages in the sandbox.",
            retry_after=wait,
            limit=LimitState("webhook-test", trials.limit, int(MINUTE), 0, int(wait) + 1),
        )


async def _try(gateway: ApiContext, caller: Caller, endpoint: Endpoint, type_: str) -> EndpointTest:
    now = gateway.clock.now()
    channel = ChannelRef(ids.show("ch", caller.channel_id), caller.kind, caller.phone)
    live = live_secrets(admin.signing_secrets(gateway.vault, endpoint), now)
    keys = [decode_secret(one.secret) for one in live]
    body = make_test_body(type_, channel, endpoint.options, now)
    headers = admin.headers_of(gateway.vault, endpoint)
    return await post_test(gateway.poster, caller.channel_id, endpoint.url, headers, keys, body, now)


def show_trial(trial: EndpointTest) -> dict[str, Any]:
    """The whole attempt, as in the log."""
    answer_ = trial.response
    return {
        "delivered": trial.delivered,
        "at": times.show(trial.at),
        "latency_ms": round(answer_.latency_ms, 1),
        "status": answer_.status,
        "error": answer_.error,
        "request": {"url": trial.url, "headers": trial.headers, "body": trial.body.decode()},
        "answer": {
            "headers": answer_.headers,
            "body": answer_.body.decode("utf-8", "replace"),
            "truncated": answer_.truncated,
        },
    }
