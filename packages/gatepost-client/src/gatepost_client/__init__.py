"""A client of the REST API, blocking or asynchronous.

with Gatepost("https://gateway.example.com", "gpk_…") as gp:
    sent = gp.send_text("5511999998888", "Hello")
    print(gp.message(sent.id).status)

async with AsyncGatepost("https://gateway.example.com", "gpk_…") as gp:
    async for event in gp.events():
        print(event.type)
"""

from gatepost_client import compose, errors, types
from gatepost_client.async_transport import AsyncTransport
from gatepost_client.blocking_transport import BlockingTransport
from gatepost_client.errors import BadWebhook, GatepostApiError, GatepostError, NoAnswer
from gatepost_client.events import Event
from gatepost_client.files import File
from gatepost_client.operations import Operations
from gatepost_client.retry import NEVER, Retry
from gatepost_client.verify import verify_webhook, verify_webhook_batch

__all__ = [
    "NEVER",
    "AsyncGatepost",
    "BadWebhook",
    "Event",
    "File",
    "Gatepost",
    "GatepostApiError",
    "GatepostError",
    "NoAnswer",
    "Retry",
    "compose",
    "errors",
    "types",
    "verify_webhook",
    "verify_webhook_batch",
]


class Gatepost(Operations, BlockingTransport):
    """A blocking client of a gateway, with one API key."""


class AsyncGatepost(Operations, AsyncTransport):
    """An asynchronous client of a gateway, with one API key."""
