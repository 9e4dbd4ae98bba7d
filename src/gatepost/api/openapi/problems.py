"""Every code of refusal with its status, and which of them a route can answer with."""

from typing import Any

from gatepost.api.openapi.answer_headers import refusal_headers
from gatepost.api.openapi.routes import Operation

STATUS: dict[str, int] = {
    "malformed_request": 400,
    "malformed_json": 400,
    "malformed_upload": 400,
    "invalid_cursor": 400,
    "invalid_idempotency_key": 400,
    "missing_api_key": 401,
    "invalid_api_key": 401,
    "invalid_signature": 401,
    "api_access_required": 402,
    "account_suspended": 402,
    "missing_scope": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "request_timeout": 408,
    "idempotency_in_progress": 409,
    "wrong_state": 409,
    "channel_not_connected": 409,
    "contact_exists": 409,
    "body_too_large": 413,
    "media_too_large": 413,
    "storage_full": 413,
    "unsupported_media_type": 415,
    "range_not_satisfiable": 416,
    "invalid_phone": 422,
    "invalid_field": 422,
    "unsupported_on_channel": 422,
    "window_closed": 422,
    "template_not_approved": 422,
    "template_variables_mismatch": 422,
    "idempotency_key_reused": 422,
    "forbidden_url": 422,
    "opted_out": 422,
    "network_refused": 422,
    "rate_limited": 429,
    "plan_quota_exceeded": 429,
    "too_many_requests": 429,
    "too_many_connections": 429,
    "headers_too_large": 431,
    "internal_error": 500,
    "overloaded": 503,
    "network_unavailable": 503,
    "database_unavailable": 503,
    "storage_unavailable": 503,
}
REASONS = {
    400: "The request cannot be read.",
    401: "There is no key, or none that is valid.",
    402: "The account may not use the API.",
    403: "The key lacks the scope.",
    404: "There is no such thing on this channel.",
    405: "The address does not take that method.",
    408: "The request took too long to arrive.",
    409: "Not as things stand.",
    413: "Too large.",
    415: "The body is of the wrong type.",
    416: "The file does not have those bytes.",
    422: "Something in the request is wrong; `fields` names it.",
    429: "A limit is reached; `Retry-After` says when to go on.",
    431: "The headers are too large.",
    500: "A mistake of ours.",
    503: "Not possible at the moment; `Retry-After` says when to try again.",
}
NETWORK = ("network_refused", "network_unavailable", "wrong_state", "channel_not_connected", "unsupported_on_channel")
KEYED = (
    "missing_api_key",
    "invalid_api_key",
    "api_access_required",
    "account_suspended",
    "missing_scope",
    "rate_limited",
)
IDEMPOTENT = ("invalid_idempotency_key", "idempotency_in_progress", "idempotency_key_reused")
RETRYABLE = frozenset(
    ({"idempotency_in_progress"} | {code for code, status in STATUS.items() if status in (408, 429, 503)})
    - {"plan_quota_exceeded"}  # not before the next month
)
_ALWAYS = ("internal_error", "database_unavailable")
_BODY = ("malformed_json", "body_too_large", "unsupported_media_type", "invalid_field", "overloaded")


def codes_of(operation: Operation, noted: tuple[str, ...], query: tuple[str, ...]) -> dict[int, list[str]]:
    """The codes that an operation can answer with, by their status."""
    codes = {*noted, *_ALWAYS, *(KEYED if operation.scope else ()), *(_BODY if operation.body else ())}
    if operation.costly:
        codes.add("too_many_requests")
    if operation.parameters:
        codes.add("not_found")
    if query:
        codes |= {"invalid_field", *(("invalid_cursor",) if {"cursor", "after"} & set(query) else ())}
    return {
        status: [code for code, its in STATUS.items() if its == status and code in codes]
        for status in sorted({STATUS[code] for code in codes})
    }


FAILURE: dict[str, Any] = {
    "type": "object",
    "description": "Every refusal. Codes are stable; messages are for people and may change.",
    "required": ["success", "message", "error"],
    "additionalProperties": False,
    "properties": {
        "success": {"const": False},
        "message": {"type": "string", "description": "What is wrong, and what to do."},
        "error": {
            "type": "object",
            "required": ["code", "fields", "retryable", "request_id", "docs"],
            "additionalProperties": False,
            "properties": {
                "code": {"type": "string", "enum": list(STATUS)},
                "fields": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["field", "message"],
                        "additionalProperties": False,
                        "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
                    },
                },
                "retryable": {"type": "boolean", "description": "Whether the same request may succeed later."},
                "request_id": {"type": "string"},
                "docs": {"type": "string", "description": "Where the code is explained."},
                "network": {
                    "type": "object",
                    "description": "What the network itself said.",
                    "required": ["code", "title"],
                    "properties": {
                        "code": {"type": "integer"},
                        "title": {"type": "string"},
                        "details": {"type": ["string", "null"]},
                    },
                },
            },
        },
    },
}


def answer_of(status: int, codes: list[str]) -> dict[str, Any]:
    """A refusal in the document: its envelope, and the codes that it can have here."""
    named = {"properties": {"error": {"properties": {"code": {"enum": codes}}}}}
    schema = {"allOf": [{"$ref": "#/components/schemas/Failure"}, named]}
    words = f"{REASONS[status]} Codes: {', '.join(f'`{code}`' for code in codes)}."
    content = {"application/json": {"schema": schema, "example": _example(codes[0])}}
    return {"description": words, "headers": refusal_headers(status), "content": content}


def _example(code: str) -> dict[str, Any]:
    error: dict[str, Any] = {
        "code": code,
        "fields": [{"field": "name", "message": "is required"}] if code == "invalid_field" else [],
        "retryable": code in RETRYABLE,
        "request_id": "req_5b1d0c3e9a7f42d8000000a1",
        "docs": f"/docs/reference/errors#{code}",
    }
    return {
        "success": False,
        "message": f"What is wrong and what to do: see /docs/reference/errors#{code}.",
        "error": error,
    }


def share_refusals(paths: dict[str, Any]) -> dict[str, Any]:
    """Takes refusals that are the same on many routes out of them, to be named once; returns them by their names."""
    shared: dict[str, Any] = {}
    for operation in (operation for path in paths.values() for operation in path.values()):
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                operation["responses"][status] = {"$ref": f"#/components/responses/{_name(status, answer, shared)}"}
    return shared


def _name(status: str, answer: Any, shared: dict[str, Any]) -> str:
    alike = [name for name, other in shared.items() if other == answer]
    if not alike:
        alike = [f"Refused{status}_{sum(name.startswith(f'Refused{status}') for name in shared) + 1}"]
        shared[alike[0]] = answer
    return alike[0]
