"""The errors of the gateway as one tree. Codes are stable; HTTP is mapped in `api/errors.py` and nowhere else.

GatepostError
├── BadRequest        malformed_request, malformed_json, malformed_upload, invalid_cursor, invalid_idempotency_key,
│                     two_credentials, channel_required
├── NotAuthenticated  missing_api_key, invalid_api_key, invalid_signature, session_ended, invalid_credentials,
│                     code_required, invalid_code
├── NoAccess          api_access_required, account_suspended
├── MissingScope      missing_scope
├── Forbidden         csrf_failed, wrong_origin, wrong_host, session_required, missing_role
├── NotFound          not_found, link_not_valid
├── RequestTimeout    request_timeout
├── Conflict          idempotency_in_progress, wrong_state, contact_exists
├── TooLarge          body_too_large, media_too_large, storage_full
├── OutOfRange        range_not_satisfiable
├── WrongMediaType    unsupported_media_type
├── Invalid           invalid_phone, invalid_field, unsupported_on_channel, window_closed, template_not_approved,
│                     template_variables_mismatch, idempotency_key_reused, forbidden_url, opted_out
├── LimitReached      rate_limited, plan_quota_exceeded, too_many_requests, too_many_connections
├── HeadersTooLarge   headers_too_large
├── Unavailable       overloaded, database_unavailable, storage_unavailable
├── NetworkRefused    network_refused
├── NetworkAway       network_unavailable
└── Misconfigured     internal_error
"""

import msgspec


class FieldProblem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An invalid field of a request."""

    field: str
    message: str


class GatepostError(Exception):
    """An error with a stable code and a message that says what to do."""

    default_code = "internal_error"
    retryable = False

    def __init__(
        self,
        message: str,
        code: str | None = None,
        *,
        fields: tuple[FieldProblem, ...] = (),
        retry_after: float | None = None,
        retryable: bool | None = None,
        limit: "LimitState | None" = None,
        network: "NetworkProblem | None" = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.fields = fields
        self.retry_after = retry_after
        self.retryable = type(self).retryable or retry_after is not None if retryable is None else retryable
        self.limit = limit
        self.network = network


class LimitState(msgspec.Struct, frozen=True):
    """The state of a limit, for the RateLimit headers."""

    policy: str
    quota: int
    window: int
    remaining: int
    reset: int


class NetworkProblem(msgspec.Struct, frozen=True):
    """The error as the network reported it."""

    code: int
    title: str
    details: str | None = None


class BadRequest(GatepostError):
    default_code = "malformed_json"


class NotAuthenticated(GatepostError):
    default_code = "invalid_api_key"


class NoAccess(GatepostError):
    default_code = "api_access_required"


class MissingScope(GatepostError):
    default_code = "missing_scope"


class Forbidden(GatepostError):
    default_code = "session_required"


class NotFound(GatepostError):
    default_code = "not_found"


class RequestTimeout(GatepostError):
    default_code = "request_timeout"


class Conflict(GatepostError):
    default_code = "wrong_state"


class TooLarge(GatepostError):
    default_code = "body_too_large"


class OutOfRange(GatepostError):
    """The requested range is outside of the file."""

    default_code = "range_not_satisfiable"

    def __init__(self, size: int) -> None:
        super().__init__(f"The file has {size:,} bytes; the requested range is outside of it.")
        self.size = size


class WrongMediaType(GatepostError):
    default_code = "unsupported_media_type"


class Invalid(GatepostError):
    default_code = "invalid_field"


class LimitReached(GatepostError):
    default_code = "rate_limited"
    retryable = True


class HeadersTooLarge(GatepostError):
    default_code = "headers_too_large"


class Unavailable(GatepostError):
    default_code = "overloaded"
    retryable = True


class NetworkRefused(GatepostError):
    default_code = "network_refused"


class NetworkAway(GatepostError):
    default_code = "network_unavailable"
    retryable = True


class Misconfigured(GatepostError):
    """Only the operator can help: a setting does not fit the data."""


def invalid_field(field: str, message: str, code: str = "invalid_field") -> Invalid:
    """Return the error of one invalid field."""
    return Invalid(f"{field}: {message}", code, fields=(FieldProblem(field, message),))


DATABASE_UNAVAILABLE = "The database cannot be reached. Nothing was changed; try again shortly."


def database_unavailable() -> Unavailable:
    return Unavailable(DATABASE_UNAVAILABLE, "database_unavailable", retry_after=2)


def account_moving() -> Unavailable:
    text = "The account is being moved to another database. Nothing was changed; try again in a second."
    return Unavailable(text, "database_unavailable", retry_after=1)


def stopping() -> Unavailable:
    words = "The gateway is stopping, and may or may not have done this. Repeat it with the same Idempotency-Key."
    return Unavailable(words, retry_after=1)


def overloaded() -> Unavailable:
    return Unavailable("Too much is waiting to be written. Nothing was changed; try again shortly.", retry_after=1)
