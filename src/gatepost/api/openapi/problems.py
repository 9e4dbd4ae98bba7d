"""The errors of a route: its possible codes, and their description in the reference."""

from typing import Any

import msgspec

from gatepost.api.contract.failure import Failure
from gatepost.api.openapi.answer_headers import refusal_headers
from gatepost.api.openapi.error_codes import (
    BY_SESSION,
    CHANGED_BY_SESSION,
    IDEMPOTENT,
    KEYED,
    REASONS,
    RETRYABLE,
    STATUS,
)
from gatepost.api.openapi.routes import Operation
from gatepost.model.errors import FieldProblem, GatepostError

_ALWAYS = ("internal_error", "database_unavailable")
_BODY = ("malformed_json", "body_too_large", "unsupported_media_type", "invalid_field", "overloaded")


def codes_of(operation: Operation) -> dict[int, list[str]]:
    """Return the possible error codes of an operation, by status."""
    docs, query = operation.docs, set(operation.docs.query_names)
    codes = {*docs.errors, *_ALWAYS, *_access_codes(operation), *(_BODY if operation.body else ())}
    codes |= {*(IDEMPOTENT if docs.once else ()), *(("too_many_requests",) if operation.costly else ())}
    if operation.parameters:
        codes.add("not_found")
    if query:
        codes |= {"invalid_field", *(("invalid_cursor",) if {"cursor", "after"} & query else ())}
    return {
        status: [code for code, its in STATUS.items() if its == status and code in codes]
        for status in sorted({STATUS[code] for code in codes})
    }


def _access_codes(operation: Operation) -> set[str]:
    rule = operation.access
    if rule is None:
        return set()
    codes = {*BY_SESSION, "rate_limited", *(CHANGED_BY_SESSION if operation.changes else ())}
    if rule.scope is None:
        suspended = () if rule.while_suspended else ("account_suspended",)
        return codes | {"session_required", *suspended, *(("missing_role",) if rule.role else ())}
    return codes | {*KEYED, "channel_required", "not_found"}


def answer_of(status: int, codes: list[str]) -> dict[str, Any]:
    """Return the description of an error response: its envelope, and the possible codes."""
    named = {"properties": {"error": {"properties": {"code": {"enum": codes}}}}}
    schema = {"allOf": [{"$ref": "#/components/schemas/Failure"}, named]}
    words = f"{REASONS[status]} Codes: {', '.join(f'`{code}`' for code in codes)}."
    content = {"application/json": {"schema": schema, "example": _example(codes[0])}}
    return {"description": words, "headers": refusal_headers(status), "content": content}


def _example(code: str) -> Any:
    fields = (FieldProblem("name", "is required"),) if code == "invalid_field" else ()
    message = f"What is wrong and what to do: see /docs/reference/errors#{code}."
    error = GatepostError(message, code, fields=fields, retryable=code in RETRYABLE)
    return msgspec.to_builtins(Failure.of(error, "req_5b1d0c3e9a7f42d8000000a1"))


def share_refusals(paths: dict[str, Any]) -> dict[str, Any]:
    """Move error responses into components, equal ones only once; return the components by name."""
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
