"""Reading a JSON body, with errors that name the field; and writing the answer's envelope."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from litestar import MediaType, Request, Response

from gatepost.model.errors import BadRequest, FieldProblem, Invalid, WrongMediaType

T = TypeVar("T")
_AT = re.compile(r" - at `\$\.?([^`]*)`$")
_NAMED = re.compile(r"field `([^`]+)`")
_encode = msgspec.json.Encoder().encode


class Answer(msgspec.Struct, frozen=True):
    """An HTTP answer, whoever gives it."""

    status: int
    body: bytes
    kind: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


async def read_body(request: Request[Any, Any, Any], decoder: "msgspec.json.Decoder[T]") -> tuple[T, bytes]:
    """The body as the type it should be, and its very bytes."""
    check_json(request.headers.get("content-type"))
    body = await request.body()
    return decode(body, decoder), body


def check_json(content_type: str | None) -> None:
    if (content_type or "").split(";")[0].strip().lower() != "application/json":
        raise WrongMediaType("Send JSON, with the header 'Content-Type: application/json'.")


def decode(body: bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    """What the bytes say, or a refusal that names the place."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _invalid(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"The body is not valid JSON: {error}") from None


def _invalid(problem: str) -> Invalid:
    """msgspec's sentence, with the field taken out of it."""
    place = _AT.search(problem)
    sentence = _AT.sub("", problem)
    named = _NAMED.search(sentence)
    field = named.group(1) if named else (place.group(1) if place else "")
    if "unknown field" in sentence:
        sentence = "is not a field of this request"
    elif "missing required field" in sentence:
        sentence = "is required"
    else:
        sentence = sentence[:1].lower() + sentence[1:].replace("`", "'")
    field = field or "body"
    return Invalid(f"{field}: {sentence}", fields=(FieldProblem(field, sentence),))


def answer(
    data: Any,
    message: str = "OK",
    *,
    status: int = 200,
    paging: Any = msgspec.UNSET,
    headers: Mapping[str, str] | None = None,
) -> Response[bytes]:
    """Data in its envelope: a success, unless the status says otherwise."""
    body = envelope(data, message, paging, success=status < 400)
    return Response(body, status_code=status, headers=headers, media_type=MediaType.JSON)


def envelope(data: Any, message: str = "OK", paging: Any = msgspec.UNSET, *, success: bool = True) -> bytes:
    """The envelope of everything that has data."""
    body = {"success": success, "message": message, "data": data}
    if paging is not msgspec.UNSET:
        body["paging"] = {"next": paging}
    return _encode(body)
