"""All errors, as one tree.

GatepostError
├── NoAnswer              the gateway could not be reached, or its response was lost
├── BadAnswer             the response is not from a gateway
├── BadWebhook            a delivery is not genuine, or too old
└── GatepostApiError      the gateway refused the request: code, fields, request_id, retryable, network
    ├── BadRequest        400
    ├── BadKey            401
    ├── NoAccess          402, 403   (no add-on, suspended, a scope is missing)
    ├── NotFound          404, 405
    ├── WrongState        409
    ├── TooLarge          413, 431
    ├── Refused           415, 416, 422
    │   ├── WindowClosed      free text outside of the 24-hour window
    │   ├── TemplateProblem   not approved, or wrong variables
    │   └── NetworkRefused    the network refused the message
    ├── RateLimited       429
    │   └── QuotaExceeded     the month's plan is used up
    └── Unavailable       408, 500, 502, 503, 504
"""

from functools import partial
from typing import Any

import msgspec

from gatepost_client.wire import Answer


class GatepostError(Exception):
    """The base of all errors of this client."""


class NoAnswer(GatepostError):
    """No response arrived. `sent` says whether the request may have been carried out."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        advice = "it may have been carried out" if sent else "nothing was sent"
        super().__init__(f"{reason}; {advice}")
        self.reason = reason
        self.sent = sent

    def __reduce__(self) -> Any:
        return partial(type(self), self.reason, sent=self.sent), ()  # so that it reaches other processes


class BadAnswer(GatepostError):
    """The response is not one of a gateway; check the address."""


class BadWebhook(GatepostError):
    """A webhook delivery that is not genuine."""


class FieldProblem(msgspec.Struct, frozen=True):
    """A field of the request, and what is wrong with it."""

    field: str
    message: str


class NetworkProblem(msgspec.Struct, frozen=True):
    """The error as the network reported it."""

    code: int | str | None = None
    title: str | None = None
    details: str | None = None
    advice: str | None = None


class Failure(msgspec.Struct, frozen=True):
    """The `error` object of a response."""

    code: str
    fields: list[FieldProblem] = []
    retryable: bool = False
    request_id: str | None = None
    docs: str | None = None
    network: NetworkProblem | None = None


class _Body(msgspec.Struct, frozen=True):
    message: str
    error: Failure


class GatepostApiError(GatepostError):
    """The gateway refused the request."""

    def __init__(self, status: int, message: str, failure: Failure, retry_after: float | None = None) -> None:
        super().__init__(f"{failure.code}: {message}")
        self._failure = failure
        self.status = status
        self.message = message
        self.code = failure.code
        self.fields = failure.fields
        self.retryable = failure.retryable
        self.request_id = failure.request_id
        self.docs = failure.docs
        self.network = failure.network
        self.retry_after = retry_after

    def __reduce__(self) -> Any:
        return type(self), (self.status, self.message, self._failure, self.retry_after)


class BadRequest(GatepostApiError):
    """The request itself is malformed."""


class BadKey(GatepostApiError):
    """The API key is missing, invalid, revoked or expired."""


class NoAccess(GatepostApiError):
    """The account or the key may not do this."""


class NotFound(GatepostApiError):
    """The object does not exist on this channel."""


class WrongState(GatepostApiError):
    """The object's present state does not allow the request."""


class TooLarge(GatepostApiError):
    """The body, the file or the headers are too large."""


class Refused(GatepostApiError):
    """A field, file or message is invalid; `fields` names it."""


class WindowClosed(Refused):
    """Free text is not allowed more than 24 hours after the person's last message."""


class TemplateProblem(Refused):
    """The template is not approved, or its variables do not match."""


class NetworkRefused(Refused):
    """The network refused the message; `network` has its error."""


class RateLimited(GatepostApiError):
    """Too many requests; `retry_after` says how long to wait."""


class QuotaExceeded(RateLimited):
    """The plan's messages of this month are used up."""


class Unavailable(GatepostApiError):
    """The gateway, its database or the network cannot answer now."""


BY_STATUS: dict[int, type[GatepostApiError]] = {
    400: BadRequest,
    401: BadKey,
    402: NoAccess,
    403: NoAccess,
    404: NotFound,
    405: NotFound,
    408: Unavailable,
    409: WrongState,
    413: TooLarge,
    415: Refused,
    416: Refused,
    422: Refused,
    429: RateLimited,
    431: TooLarge,
    500: Unavailable,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
BY_CODE: dict[str, type[GatepostApiError]] = {
    "window_closed": WindowClosed,
    "template_not_approved": TemplateProblem,
    "template_variables_mismatch": TemplateProblem,
    "network_refused": NetworkRefused,
    "plan_quota_exceeded": QuotaExceeded,
}

_body = msgspec.json.Decoder(_Body)


def error_of(answer: Answer) -> GatepostApiError:
    """Return the error of a response. A proxy's page has no error code; then the HTTP status decides."""
    try:
        body = _body.decode(answer.body)
    except msgspec.DecodeError:
        failure = Failure(f"http_{answer.status}", request_id=answer.headers.get("x-request-id"))
        body = _Body(f"An answer {answer.status} that the gateway did not write", failure)
    kind = BY_CODE.get(body.error.code) or BY_STATUS.get(answer.status, GatepostApiError)
    return kind(answer.status, body.message, body.error, retry_after(answer))


def retry_after(answer: Answer) -> float | None:
    """Return the seconds of a Retry-After header."""
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else None


def read_data(answer: Answer, kind: Any) -> Any:
    """Decode the body of a successful response."""
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except msgspec.DecodeError as error:
        raise BadAnswer(f"The answer {answer.status} could not be read: {error}") from None
