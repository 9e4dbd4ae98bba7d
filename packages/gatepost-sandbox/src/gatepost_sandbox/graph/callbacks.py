"""Callback addresses set by a business, and their verification handshake."""

from typing import Any

from gatepost_sandbox.errors import Refusal, parameter
from gatepost_sandbox.ids import stream
from gatepost_sandbox.network import Network

URL_MAX = 200


async def check_callback(network: Network, url: Any, verify_token: Any) -> Refusal | None:
    """Make the handshake with an address, if there is one."""
    if url is None:
        return None
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return parameter("The callback address must be an http or https address.")
    if len(url) > URL_MAX:
        return parameter(f"The callback address must be at most {URL_MAX} characters long.")
    if not verify_token or not isinstance(verify_token, str):
        return parameter("The parameter verify_token is required.")
    challenge = str(stream(network.settings.seed, url, "challenge").randrange(10**9, 10**10))
    problem = await network.callback_client.verify(url, verify_token, challenge, network.settings.callbacks.timeout)
    if problem is None:
        return None
    return Refusal(
        2200, message="(#2200) Callback verification failed.", user_title="Callback not verified", user_message=problem
    )
