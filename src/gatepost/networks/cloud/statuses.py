"""Statuses of messages that we sent. Most updates are statuses, so each is decoded directly into a struct."""

from typing import Any

import msgspec

from gatepost.networks.base import NetworkError, StatusUpdate
from gatepost.networks.cloud import errors
from gatepost.networks.cloud.callback_data import unpack
from gatepost.networks.cloud.json_values import as_dict, as_list, as_str, as_time, limit_depth, parse, require_id


class _Status(msgspec.Struct):
    id: str
    status: str
    timestamp: str | int
    biz_opaque_callback_data: Any = None
    errors: Any = None
    pricing: Any = None
    conversation: Any = None


_decode = msgspec.json.Decoder(_Status).decode


def parse_status(raw: msgspec.Raw) -> StatusUpdate:
    """Parse one status; invalid optional fields are dropped."""
    try:
        status = _decode(raw)
    except msgspec.ValidationError:  # for example a number out of range in an optional field
        status = msgspec.convert(parse(bytes(raw)), _Status)
    data = status.biz_opaque_callback_data
    ours = unpack(data) if isinstance(data, str) else None
    error = parse_error(status.errors) if status.errors else None
    return StatusUpdate(
        network_id=require_id(status.id),
        status=status.status,
        at=as_time(status.timestamp),
        message_id=ours[0] if ours else None,
        attempt=ours[1] if ours else None,
        error=error.as_final() if error else None,
        pricing=limit_depth(status.pricing) if isinstance(status.pricing, dict) else None,
        conversation=limit_depth(status.conversation) if isinstance(status.conversation, dict) else None,
        reaction=errors.reaction_to(error.code)[0] if error and error.advice and status.status == "failed" else None,
    )


def parse_error(found: Any) -> NetworkError | None:
    """Return the first error in a list of errors, with our advice."""
    error = next((error for error in as_list(found) if isinstance(error, dict)), None)
    if error is None:
        return None
    code = error.get("code")
    title = as_str(error.get("title"), 1000) or as_str(error.get("message"), 1000) or ""
    details = as_str(as_dict(error.get("error_data")).get("details"), 4000)
    if not isinstance(code, int) or not 0 <= code < 2**31:
        return NetworkError(0, title, details)
    return errors.with_advice(code, title, details)
