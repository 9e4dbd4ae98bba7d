"""An HTTP client that is pinned to a checked address, and why its requests fail."""

from collections.abc import Sequence
from datetime import timedelta

from pyreqwest.client import ClientBuilder
from pyreqwest.exceptions import ClientClosedError, DetailedPyreqwestError, PyreqwestError, RequestTimeoutError

from gatepost.webhooks.guard import CheckedUrl
from gatepost.webhooks.retry import Failure


def pinned_client(
    target: CheckedUrl, address: str, connect_deadline: float, roots: Sequence[bytes], user_agent: str
) -> ClientBuilder:
    """Return a client that connects only to a checked address; without redirects, proxies and decompression."""
    builder = ClientBuilder().http1_only().no_proxy().follow_redirects(False).referer(False).user_agent(user_agent)
    builder = builder.gzip(False).brotli(False).zstd(False).deflate(False)
    builder = builder.connect_timeout(timedelta(seconds=connect_deadline))
    for root in roots:
        builder = builder.add_root_certificate_pem(root)
    return builder if target.literal else builder.resolve(target.host, address, target.port)


def explain_failure(error: PyreqwestError, scheme: str, deadline: float) -> tuple[Failure, str]:
    """Return the kind of a failure, and a sentence that explains it."""
    if isinstance(error, ClientClosedError):
        return "protocol", "The gateway stopped before the endpoint answered."
    causes, connecting = _causes(error), is_while_connecting(error)
    if isinstance(error, RequestTimeoutError):
        if connecting:
            return "timeout", "The endpoint could not be connected to in time."
        return "timeout", f"The endpoint did not finish its answer within {deadline:g} s."
    last = causes[-1] if causes else error.message
    if connecting and (scheme == "http" or "tcp connect error" in causes):
        return "connect", f"The endpoint could not be connected to: {last}."
    if connecting:
        return "tls", f"No secure connection could be made: {last}."
    return "protocol", f"The endpoint broke off or did not answer in HTTP: {last}."


def is_while_connecting(error: PyreqwestError) -> bool:
    """Return whether nothing was sent."""
    # The class of the error is not enough: a timeout while waiting for the response is a ConnectTimeoutError as well.
    return "client error (Connect)" in _causes(error)


def _causes(error: PyreqwestError) -> list[str]:
    causes = error.details["causes"] if isinstance(error, DetailedPyreqwestError) else None
    return [cause["message"] for cause in causes or ()]
