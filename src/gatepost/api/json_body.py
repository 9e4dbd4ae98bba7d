"""Reads JSON bodies, with errors that name the invalid field."""

from typing import TypeVar

import msgspec

from gatepost.api.asgi import Request
from gatepost.api.body_problems import invalid_body, malformed
from gatepost.model.errors import WrongMediaType

T = TypeVar("T")


class HttpAnswer(msgspec.Struct, frozen=True):
    """An HTTP response."""

    status: int
    body: bytes
    kind: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


async def read_body(request: Request, decoder: "msgspec.json.Decoder[T]", *, required: bool = True) -> tuple[T, bytes]:
    """Return the decoded body of a request, and its bytes. A body that is not required can be left out."""
    content_type = request.headers.get("content-type")
    if required:
        check_json(content_type)
    body = await request.body()
    if not (required or body):
        return decoder.decode(b"{}"), body
    check_json(content_type)
    return decode(body, decoder), body


def check_json(content_type: str | None) -> None:
    if (content_type or "").split(";")[0].strip().lower() != "application/json":
        raise WrongMediaType("Send JSON, with the header 'Content-Type: application/json'.")


def decode(body: bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    """Decode a JSON body, or raise an error that names the invalid field or position."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise invalid_body(error, body, decoder.type) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise malformed(error, body) from None
