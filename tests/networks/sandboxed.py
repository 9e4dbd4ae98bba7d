"""A sandbox with one number, and the two adapters that speak to it, for the tests of this folder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from pyreqwest.client import Client

from gatepost.networks.cloud.business_account import CloudAccount
from gatepost.networks.cloud.send import CloudNetwork, make_client
from gatepost_sandbox import SandboxSettings
from gatepost_sandbox import create_app as create_sandbox
from tests.conftest import Receiver, serve_app
from tests.networks.callbacks import NUMBER, OUR_PHONE, WABA
from tests.patience import PATIENCE

TOKEN, VERSION, START = "token", "v25.0", 1_700_000_000.0


class Sandboxed(msgspec.Struct, frozen=True):
    """A number, with clients of all its APIs."""

    client: Client
    url: str
    network: CloudNetwork
    account: CloudAccount

    async def control(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request to the control API, which must succeed."""
        request = self.client.request(method, f"{self.url}/control/{path}")
        if body is not None:
            request = request.header("content-type", "application/json").body_bytes(msgspec.json.encode(body))
        response = await request.build().send()
        answer = bytes(await response.bytes())
        assert response.status == 200, answer
        return msgspec.json.decode(answer)


@asynccontextmanager
async def sandboxed(receiver: Receiver | None = None) -> AsyncIterator[Sandboxed]:
    """A world of its own, whose clock stands still until it is moved."""
    world = create_sandbox(SandboxSettings(seed=7, start=START, frozen=True, user_ids=False))
    async with serve_app(world) as url, make_client(PATIENCE, PATIENCE) as client:
        network = CloudNetwork(client, url, VERSION, NUMBER, TOKEN)
        account = CloudAccount(client, url, VERSION, NUMBER, WABA, TOKEN)
        one = Sandboxed(client, url, network, account)
        spec = {"phone_number_id": NUMBER, "phone": OUR_PHONE, "token": TOKEN, "waba_id": WABA}
        spec |= {"app_secret": "secret", "verify_token": "verify", "name": "Acme"}
        callback = {"callback_url": receiver.url + "/callback"} if receiver else {}
        await one.control("POST", "numbers", spec | callback)
        yield one
