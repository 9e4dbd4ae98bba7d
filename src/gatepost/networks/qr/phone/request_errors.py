"""Converts the library's errors into errors of the protocol and reasons for the end of a link. Pure."""

import re
from typing import Any

from gatepost.networks.qr.phone.engine import EngineError

Problem = dict[str, Any]
_CODE = re.compile(r"(?:server returned error|info query returned status|status code) (\d{3})")
_BEFORE = (  # these happen before anything is sent
    "websocket not connected",
    "the store doesn't contain a device jid",
    "not logged in",
    "failed to get device list",
    "failed to get user devices",
    "client is nil",
    "can't send message to unknown server",
    "recipient must be a user jid",
)
_UNREACHED = ("failed to dial", "websocket dial", "no such host", "connection refused", "network is unreachable")


def problem(text: str) -> Problem:
    """Return the error of a request. `sure` is set if the request was certainly not sent, or was rejected."""
    found = _CODE.search(text)
    if found:
        return _error(int(found[1]), "The network refused", text, sure=True)
    if "rate-overlimit" in text:
        return _error(429, "The network refused", text, sure=True)
    sure = any(words in text.lower() for words in _BEFORE)
    return _error(
        0, "The link is not connected" if sure else "It is unknown whether the request was sent", text, sure=sure
    )


def of_engine(error: EngineError) -> Problem:
    """Return the error of a request, using the engine's code and `sure` if it set them."""
    if error.code is not None:
        return _error(error.code, "The network refused", str(error), sure=error.sure is not False)
    found = problem(str(error))
    return found if error.sure is None else found | {"sure": error.sure}


def unfit(text: str) -> Problem:
    """Return the error of a request that this driver rejects. A retry would fail too."""
    return _error(400, "Not supported on a linked phone", text, sure=True)


def not_up(text: str = "The link is not connected.") -> Problem:
    return _error(0, "The link is not connected", text, sure=True)


def not_on_network(phone: str) -> Problem:
    return _error(404, "Not on the network", f"{phone} has no account on the network.", sure=True)


def _error(code: int, title: str, details: str, *, sure: bool) -> Problem:
    return {"error": {"code": code, "title": title, "details": details[:500]}, "sure": sure}


def reason_of_end(text: str) -> str:
    """Return the reason for a link that ended with this error text."""
    return "network_gone" if any(words in text.lower() for words in _UNREACHED) else "stream_error"
