"""Notes requests with an API key that get an error, for the owners of the key (`access/refusal_recorder.py`)."""

from typing import Any

import msgspec

from gatepost.access.refusal_recorder import Refusal
from gatepost.api.context import ApiContext
from gatepost.api.json_body import HttpAnswer
from gatepost.model.account import is_key, key_hash

_PART_MAX = 40  # characters of a part of a path: ids are shorter, tokens longer
_SCHEME = b"bearer "


class _Field(msgspec.Struct):
    field: str


class _Details(msgspec.Struct):
    code: str
    fields: list[_Field]


class _Failure(msgspec.Struct):
    message: str
    error: _Details


_failure = msgspec.json.Decoder(_Failure)


def note_refusal(gateway: ApiContext, scope: Any, answer: HttpAnswer, request_id: str) -> None:
    """Note a request with its error response, if it has an API key."""
    key = _key_of(scope)
    if key is None:
        return
    failure = _failure.decode(answer.body)
    fields = failure.error.fields
    refusal = Refusal(
        method=scope["method"],
        path=scope.get("path_template") or safe_path(scope["path"]),
        status=answer.status,
        code=failure.error.code,
        field=fields[0].field if fields else "",
        message=failure.message,
        request_id=request_id,
    )
    gateway.refused.record(key_hash(key), refusal, admitted="caller" in scope.get("state", {}))


def safe_path(path: str) -> str:
    """Return a path without the parts that may be secrets, such as the token of a one-time link."""
    return "/".join(part if len(part) <= _PART_MAX else "…" for part in path.split("/"))


def _key_of(scope: Any) -> str | None:
    for name, value in scope["headers"]:
        if name == b"authorization" and value[: len(_SCHEME)].lower() == _SCHEME:
            key: str = value[len(_SCHEME) :].decode("latin-1").strip()
            return key if is_key(key) else None
    return None
