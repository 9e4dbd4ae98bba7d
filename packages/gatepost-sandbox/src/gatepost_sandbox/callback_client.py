"""The HTTP client of the sandbox: it posts callbacks and makes the verification handshake."""

from datetime import timedelta

from pyreqwest.client import ClientBuilder
from pyreqwest.exceptions import PyreqwestError


class CallbackClient:
    """An HTTP client with persistent connections."""

    def __init__(self) -> None:
        self._client = ClientBuilder().no_proxy().follow_redirects(False).user_agent("gatepost-sandbox").build()

    async def post(self, url: str, body: bytes, signature: str, timeout: float) -> tuple[int | None, str | None]:
        """Post one callback; return the HTTP status, or the kind of failure."""
        try:
            request = (
                self._client.post(url)
                .timeout(timedelta(seconds=timeout))
                .header("Content-Type", "application/json")
                .header("X-Hub-Signature-256", signature)
                .body_bytes(body)
                .build()
            )
            return (await request.send()).status, None
        except (PyreqwestError, ValueError) as error:
            return None, type(error).__name__

    async def verify(self, url: str, verify_token: str, challenge: str, timeout: float) -> str | None:
        """Make the verification handshake with an address; return what went wrong, or None."""
        query = {"hub.mode": "subscribe", "hub.challenge": challenge, "hub.verify_token": verify_token}
        try:
            request = self._client.get(url).query(query).timeout(timedelta(seconds=timeout)).build()
            response = await request.send()
            answer = await response.text()
        except (PyreqwestError, ValueError) as error:
            return f"could not reach {url}: {type(error).__name__}: {error}"
        if response.status != 200:
            return f"{url} answered HTTP {response.status}, not 200"
        if answer != challenge:
            return f"{url} answered {answer[:100]!r}, not the challenge {challenge!r}"
        return None

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()
