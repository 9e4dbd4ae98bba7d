"""The secrets of a webhook endpoint: a new one, and whether a delivery was signed with one of them."""

import asyncio
from datetime import timedelta
from typing import Annotated

import msgspec

from gatepost.admin import endpoints as admin
from gatepost.admin.signing import DEFAULT_OVERLAP, OVERLAP_MAX
from gatepost.api.context import Context, CurrentCaller
from gatepost.api.contract.webhooks import NewWebhook, Signing, Verdict
from gatepost.api.responses import SECRET, Reply
from gatepost.api.route import post
from gatepost.api.webhooks import PATH, read_endpoint_id, show_new
from gatepost.model.signing import decode_check
from gatepost.webhooks.verification import VerificationKey, verify

Overlap = Annotated[int, msgspec.Meta(ge=0, le=int(OVERLAP_MAX.total_seconds()))]


class RotateSecret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For how many seconds the old secrets keep signing, and the scheme of the new one (default: the current)."""

    overlap: Overlap = int(DEFAULT_OVERLAP.total_seconds())
    signing: Signing | None = None


class VerifyDelivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A delivery as you received it: its headers, and its body unchanged."""

    headers: dict[str, str]
    body: str


_EXAMPLE = {
    "headers": {
        "webhook-id": "evt_01a1dd112a6b7f2e8d1c5e0c7a3b9f10",
        "webhook-timestamp": "1794736800",
        "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    },
    "body": '{"id": "evt_01a1dd112a6b7f2e8d1c5e0c7a3b9f10"}',
}


@post(
    PATH + "/{endpoint_id}/rotate-secret",
    scope="manage",
    summary="Rotate the secret",
    message="Secret rotated",
    errors=("wrong_state",),
    body_required=False,
    example={"overlap": 3600},
)
async def rotate_secret(
    endpoint_id: str, body: RotateSecret, gateway: Context, caller: CurrentCaller
) -> Reply[NewWebhook]:
    """Creates a signing secret, which only this response contains. Old secrets keep signing during the overlap."""
    overlap, id_, now = timedelta(seconds=body.overlap), read_endpoint_id(endpoint_id), gateway.clock.now()
    new = await admin.rotate_secret(
        gateway.db, gateway.vault, caller.channel_id, id_, overlap=overlap, signing=body.signing, now=now
    )
    return Reply(show_new(gateway, new), headers=SECRET)


@post(
    PATH + "/{endpoint_id}/verify",
    scope="read",
    summary="Verify a delivery",
    message="Genuine",
    example=_EXAMPLE,
)
async def verify_delivery(
    endpoint_id: str, body: VerifyDelivery, gateway: Context, caller: CurrentCaller
) -> Reply[Verdict]:
    """Checks whether headers and body are a genuine delivery to this endpoint, and returns the reason if not."""
    endpoint = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    secrets = admin.signing_secrets(gateway.vault, endpoint)
    keys = [VerificationKey(decode_check(one.secret), one.until) for one in secrets]
    # In a thread: ten public keys over a megabyte would block the event loop.
    given = body.headers, body.body.encode(errors="replace"), gateway.clock.now()
    result = await asyncio.to_thread(verify, keys, *given)
    return Reply(Verdict.of(result), None if result.valid else "Not genuine")
