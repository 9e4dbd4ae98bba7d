"""The network's refusals: codes, HTTP statuses and bodies as the Graph API writes them."""

from typing import Any

import msgspec

THROTTLES = frozenset({4, 80007, 80008, 130429, 131048, 131056, 133016})

# code: (HTTP status, title). Throttling codes take their status from the settings.
TABLE: dict[int, tuple[int, str]] = {
    0: (401, "AuthException"),
    1: (400, "API Unknown"),
    2: (503, "API Service"),
    3: (500, "API Method"),
    4: (429, "API Too Many Calls"),
    10: (403, "Permission Denied"),
    15: (400, "This method must be called with an app access token"),
    33: (400, "Parameter value is not valid"),
    100: (400, "Invalid parameter"),
    101: (400, "Error validating application"),
    104: (401, "Incorrect signature"),
    190: (401, "Access token has expired"),
    200: (403, "API Permission"),
    368: (403, "Temporarily blocked for policies violations"),
    613: (400, "Calls to this api have exceeded the rate limit"),
    80007: (429, "Rate limit issues"),
    80008: (429, "Calls to this account have exceeded the rate limit"),
    130403: (400, "User is blocked by the business"),
    130429: (429, "Rate limit hit"),
    130472: (400, "User's number is part of an experiment"),
    130497: (403, "Business account is restricted from messaging users in this country"),
    131000: (500, "Something went wrong"),
    131005: (403, "Access denied"),
    131008: (400, "Required parameter is missing"),
    131009: (400, "Parameter value is not valid"),
    131016: (500, "Service unavailable"),
    131021: (400, "Recipient cannot be sender"),
    131026: (400, "Message undeliverable"),
    131030: (400, "Recipient phone number not in allowed list"),
    131031: (403, "Account has been locked"),
    131037: (400, "Display name approval needed"),
    131042: (400, "Business eligibility payment issue"),
    131045: (500, "Incorrect certificate"),
    131047: (400, "Re-engagement message"),
    131048: (429, "Spam rate limit hit"),
    131049: (400, "Message not delivered to maintain healthy ecosystem engagement"),
    131050: (400, "User has stopped marketing messages"),
    131051: (400, "Unsupported message type"),
    131052: (400, "Media download error"),
    131053: (400, "Media upload error"),
    131055: (400, "Method not allowed"),
    131056: (429, "(Business Account, Consumer Account) pair rate limit hit"),
    131057: (500, "Account in maintenance mode"),
    131062: (400, "Recipient not supported"),
    131063: (400, "Marketing templates are disabled"),
    131064: (429, "Messaging limit reached"),
    132000: (400, "Template param count mismatch"),
    132001: (404, "Template does not exist"),
    132005: (400, "Template hydrated text too long"),
    132007: (400, "Template format character policy violated"),
    132008: (400, "Template parameter value is not valid"),
    132012: (400, "Template parameter format mismatch"),
    132015: (400, "Template is paused"),
    132016: (400, "Template is disabled"),
    132018: (400, "Template parameters are not valid"),
    132068: (400, "Flow is blocked"),
    132069: (400, "Flow is throttled"),
    133000: (500, "Incomplete deregistration"),
    133004: (503, "Server temporarily unavailable"),
    133005: (400, "Two step verification PIN mismatch"),
    133006: (400, "Phone number re-verification needed"),
    133008: (400, "Too many two step verification PIN guesses"),
    133009: (400, "Two step verification PIN guessed too fast"),
    133010: (400, "Phone number not registered"),
    133015: (400, "Please wait a few minutes before attempting to register this phone number"),
    133016: (429, "Account register deregister rate limit exceeded"),
    134011: (400, "Payments terms of service not accepted"),
    134100: (400, "Only marketing messages supported"),
    134101: (400, "Template is syncing"),
    134102: (500, "Template unavailable for use"),
    135000: (400, "Generic user error"),
    136024: (400, "Code verification failed"),
    137000: (400, "Identity key hash mismatch"),
    139103: (400, "Blocklist limit reached"),
    147001: (400, "Username is not valid"),
    147002: (400, "Username is not available"),
}

UNDELIVERABLE = "Message undeliverable."
OUTSIDE_WINDOW = "Message failed to send because more than 24 hours have passed since the customer last replied."


class Refusal(msgspec.Struct, frozen=True):
    """A refusal: its code, message and HTTP status."""

    code: int
    details: str | None = None
    message: str | None = None  # full text, if it is not "(#code) title"
    status: int | None = None
    kind: str = "OAuthException"
    subcode: int | None = None
    user_title: str | None = None  # for people, on the management side
    user_message: str | None = None


def missing(name: str) -> Refusal:
    """Return the refusal of a request that lacks a required parameter."""
    return Refusal(131008, details=f"Parameter '{name}' is required.")


def invalid(name: str, why: str) -> Refusal:
    """Return the refusal of a parameter with an invalid value."""
    return Refusal(131009, details=f"Parameter '{name}' {why}.")


def parameter(text: str) -> Refusal:
    """Return the refusal of the Graph API's own checks of shape and length, which has no details."""
    return Refusal(100, message=f"(#100) {text}")


def bad_token(why: str) -> Refusal:
    """Return the refusal of a request without a valid access token."""
    return Refusal(190, message=f"Invalid OAuth access token - {why}")


def bad_proof() -> Refusal:
    """Return the refusal of an `appsecret_proof` that was not made with the app's secret."""
    return Refusal(100, kind="GraphMethodException", message="Invalid appsecret_proof provided in the API argument")


def missing_permission(scope: str) -> Refusal:
    """Return the refusal of a token that lacks a permission."""
    return Refusal(200, message=f"(#200) The permission {scope} is missing.")


def unknown_object(method: str, object_id: str) -> Refusal:
    """Return the refusal of an object that does not exist or is forbidden; the network does not say which."""
    return Refusal(
        100,
        kind="GraphMethodException",
        subcode=33,
        message=f"Unsupported {method.lower()} request. Object with ID '{object_id}' does not exist, cannot be loaded "
        "due to missing permissions, or does not support this operation. Please read the Graph API documentation at "
        "https://developers.facebook.com/docs/graph-api",
    )


def http_status(refusal: Refusal, throttle_status: int) -> int:
    """Return the HTTP status of a refusal."""
    if refusal.status is not None:
        return refusal.status
    return throttle_status if refusal.code in THROTTLES else TABLE.get(refusal.code, (400, ""))[0]


def title(code: int) -> str:
    """Return the short name of a code."""
    return TABLE.get(code, (400, "Something went wrong"))[1]


def refusal_body(refusal: Refusal, trace_id: str) -> bytes:
    """Return the JSON body of a refused request."""
    error: dict[str, Any] = {
        "message": refusal.message or f"(#{refusal.code}) {title(refusal.code)}",
        "type": refusal.kind,
        "code": refusal.code,
    }
    if refusal.details is not None:
        error["error_data"] = {"messaging_product": "whatsapp", "details": refusal.details}
    if refusal.subcode is not None:
        error["error_subcode"] = refusal.subcode
    if refusal.user_message is not None:
        error["error_user_title"] = refusal.user_title or title(refusal.code)
        error["error_user_msg"] = refusal.user_message
    error["fbtrace_id"] = trace_id
    return msgspec.json.encode({"error": error})


def status_error(code: int, details: str) -> dict[str, Any]:
    """Return the error object inside a `failed` status."""
    return {
        "code": code,
        "title": title(code),
        "message": title(code),
        "error_data": {"details": details},
        "href": "https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/",
    }
