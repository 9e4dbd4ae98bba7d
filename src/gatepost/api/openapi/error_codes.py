"""Every error code with its HTTP status, and the codes that many routes share."""

STATUS: dict[str, int] = {
    "malformed_request": 400,
    "malformed_json": 400,
    "malformed_upload": 400,
    "invalid_cursor": 400,
    "invalid_idempotency_key": 400,
    "two_credentials": 400,
    "channel_required": 400,
    "missing_api_key": 401,
    "invalid_api_key": 401,
    "invalid_signature": 401,
    "session_ended": 401,
    "invalid_credentials": 401,
    "code_required": 401,
    "invalid_code": 401,
    "api_access_required": 402,
    "account_suspended": 402,
    "missing_scope": 403,
    "missing_role": 403,
    "session_required": 403,
    "csrf_failed": 403,
    "wrong_origin": 403,
    "not_found": 404,
    "link_not_valid": 404,
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
    401: "The API key or session is missing or invalid.",
    402: "The account may not use the API.",
    403: "The key or the user may not do this.",
    404: "The channel has no such resource.",
    405: "The URL does not support this method.",
    408: "The request took too long to arrive.",
    409: "Not possible in the current state.",
    413: "Too large.",
    415: "The media type of the body is not supported.",
    416: "The requested range is outside of the file.",
    422: "A value in the request is invalid; `fields` names it.",
    429: "A limit is reached; `Retry-After` says when to retry.",
    431: "The headers are too large.",
    500: "An error in the gateway.",
    503: "Temporarily unavailable; `Retry-After` says when to retry.",
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
BY_SESSION = ("two_credentials", "session_ended")
CHANGED_BY_SESSION = ("csrf_failed", "wrong_origin")
# Codes of keys that are 403 for a session, which is not about access to the API.
FORBIDDEN = ("account_suspended", "api_access_required")
IDEMPOTENT = ("invalid_idempotency_key", "idempotency_in_progress", "idempotency_key_reused")
RETRYABLE = frozenset(
    ({"idempotency_in_progress"} | {code for code, status in STATUS.items() if status in (408, 429, 503)})
    - {"plan_quota_exceeded"}  # not before the next month
)
