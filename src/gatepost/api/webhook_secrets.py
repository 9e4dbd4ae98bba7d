"""The secrets of a webhook endpoint: a new one, and whether a delivery was signed with one of them."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, post
from litestar.params import FromPath

from gatepost.admin import endpoints as admin
from gatepost.admin.signing import DEFAULT_OVERLAP, OVERLAP_MAX
from gatepost.api.context import Context, CurrentCaller
from gatepost.api.json_body import answer, read_body
from gatepost.api.responses import SECRET
from gatepost.api.webhooks import PATH, Signing, read_endpoint_id, show_new
from gatepost.model import times
from gatepost.model.signing import decode_check
from gatepost.webhooks.verification import VerificationKey, VerificationResult, verify

Overlap = Annotated[int, msgspec.Meta(ge=0, le=int(OVERLAP_MAX.total_seconds()))]


class RotateSecret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many seconds the old secrets go on signing, and what kind the new one is; left out: as it was."""

    overlap: Overlap = int(DEFAULT_OVERLAP.total_seconds())
    signing: Signing | None = None


class VerifyDelivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A delivery as it came: its headers, and its body to the letter."""

    headers: dict[str, str]
    body: str


_rotate = msgspec.json.Decoder(RotateSecret)
_verify = msgspec.json.Decoder(VerifyDelivery)


@post(PATH + "/{endpoint_id:str}/rotate-secret", opt={"scope": "manage"}, status_code=200, summary="Rotate the secret")
async def rotate_secret(
    endpoint_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Makes a new signing secret, shown in this answer only; the old ones sign beside it until the overlap is over."""
    body, _ = await read_body(request, _rotate)
    overlap, id_, now = timedelta(seconds=body.overlap), read_endpoint_id(endpoint_id), gateway.clock.now()
    new = await admin.rotate_secret(
        gateway.db, gateway.vault, caller.channel_id, id_, overlap=overlap, signing=body.signing, now=now
    )
    return answer(show_new(gateway, new), "Secret rotated", headers=SECRET)


@post(PATH + "/{endpoint_id:str}/verify", opt={"scope": "read"}, status_code=200, summary="Verify a delivery")
async def verify_delivery(
    endpoint_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Says whether headers and body are a genuine delivery to this endpoint and, if not, why."""
    body, _ = await read_body(request, _verify)
    endpoint = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    kept = [
        VerificationKey(decode_check(one.secret), one.until) for one in admin.signing_secrets(gateway.vault, endpoint)
    ]
    # Beside the loop: ten public keys over a megabyte take long enough for everybody else to notice.
    given = body.headers, body.body.encode(errors="replace"), gateway.clock.now()
    verdict = await asyncio.to_thread(verify, kept, *given)
    return answer(show_verdict(verdict), "Genuine" if verdict.valid else "Not genuine")


def show_verdict(verdict: VerificationResult) -> dict[str, Any]:
    """A verdict as the outside reads it."""
    by = None if verdict.by is None else ("current" if verdict.by == 0 else "previous")
    at = None if verdict.timestamp is None else datetime.fromtimestamp(verdict.timestamp, UTC)
    return {
        "valid": verdict.valid,
        "reason": verdict.reason,
        "signed_by": by,
        "timestamp": times.show_maybe(at),
        "age_seconds": verdict.age,
    }
