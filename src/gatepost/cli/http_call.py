"""HTTP calls to a server on this machine or near it."""

import json
from http.client import HTTPException
from typing import Any
from urllib import error as url_errors
from urllib import request

_TIMEOUT = 30.0
# Never through the proxy of the environment.
_opener = request.build_opener(request.ProxyHandler({}))


class HttpError(OSError):
    """The server responded with an error."""

    def __init__(self, url: str, status: int, body: bytes) -> None:
        super().__init__(f"{url} responded with {status}: {body[:500].decode(errors='replace')}")
        self.status = status
        self.body = body


def call(
    url: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
    *,
    method: str | None = None,
    timeout: float = _TIMEOUT,
) -> Any:
    """Send a request with a JSON body, and return the JSON response.

    An error response raises HttpError; no response, or an incomplete one, another OSError.
    """
    content = None if body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **(headers or {})}
    try:
        with _opener.open(request.Request(url, content, sent, method=method), timeout=timeout) as response:  # noqa: S310
            return json.load(response)
    except url_errors.HTTPError as error:
        with error:
            raise HttpError(url, error.code, error.read(100_000)) from None
    except HTTPException as error:  # the server ended in the middle of its response
        raise ConnectionError(f"The response of {url} broke off: {error!r}") from None
