"""The headers of responses."""

from typing import Any

Schema = dict[str, Any]


def _header(description: str, example: str) -> Schema:
    return {"description": description, "schema": {"type": "string"}, "example": example}


ANSWER_HEADERS: dict[str, Schema] = {
    "X-Request-Id": _header("The id of this request.", "req_5b1d0c3e9a7f42d8000000a1"),
    "RateLimit-Policy": _header("How many requests (`q`) a key may make in how many seconds (`w`).", '"api";q=400;w=2'),
    "RateLimit": _header(
        "How many requests are left (`r`), and in how many seconds the full quota is available again (`t`).",
        '"api";r=399;t=1',
    ),
    "Retry-After": _header("After how many seconds to retry.", "1"),
    "Idempotent-Replayed": _header(
        "`true` if this is the stored response to an earlier request with the same key.", "true"
    ),
}


def _named(*names: str) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def headers_of(*, keyed: bool, once: bool) -> Schema:
    """Return the headers of a success. `keyed`: an API key is needed; `once`: it takes an Idempotency-Key."""
    rate = ("RateLimit-Policy", "RateLimit") if keyed else ()
    return _named("X-Request-Id", *rate, *(("Idempotent-Replayed",) if once else ()))


def refusal_headers(status: int) -> Schema:
    """Return the headers of an error."""
    limits = ("RateLimit-Policy", "RateLimit") if status == 429 else ()
    return _named("X-Request-Id", *limits, *(("Retry-After",) if status in (429, 503) else ()))
