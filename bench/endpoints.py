"""The webhook endpoints of a channel under test: create and enable them, write events, check deliveries."""

import asyncio
from typing import Any

import msgspec
from pyreqwest.client import Client

from bench import measure
from bench.gateway import Gateway
from bench.processes import BenchFailed, running
from bench.tenant import Tenant
from gatepost.model.event import MESSAGE, TYPES
from gatepost.store.pool import Database


class Hooks:
    """A client for the endpoints of a channel."""

    def __init__(self, gateway: Gateway, client: Client, tenant: Tenant) -> None:
        self._base = f"http://127.0.0.1:{gateway.port}/api/v1/webhooks"
        self._client = client
        self._headers = {"authorization": f"Bearer {tenant.key}", "content-type": "application/json"}

    async def make(self, url: str, batch: int = 1) -> str:
        """Create an endpoint for the events of the writer; return its id."""
        options: dict[str, Any] = {"url": url, "events": {type_: type_ == MESSAGE for type_ in TYPES}}
        if batch > 1:
            options["batch"] = {"most": batch}
        made: str = (await self._ask("POST", "", options))["id"]
        return made

    async def turn(self, endpoint: str, *, on: bool) -> None:
        await self._ask("PATCH", f"/{endpoint}", {"active": on})

    async def _ask(self, method: str, path: str, body: Any) -> dict[str, Any]:
        request = self._client.request(method, self._base + path).headers(self._headers)
        answer = await request.body_bytes(msgspec.json.encode(body)).build().send()
        if answer.status not in (200, 201):
            raise BenchFailed(f"The gateway refuses {method} /webhooks{path}: {await answer.text()}")
        data: dict[str, Any] = msgspec.json.decode(await answer.bytes())["data"]
        return data


async def write_events(gateway: Gateway, tenant: Tenant, events: int) -> None:
    """Write a number of events to the channel."""
    arguments = ["--dsn", gateway.dsn, "--channel", str(tenant.channel_id), "--events", str(events)]
    async with running("bench.event_writer", *arguments) as writer:
        await measure.sample(writer, gateway.cpu, 300)


async def check_delivered(gateway: Gateway, tenant: Tenant, url: str) -> None:
    """Check that every event was delivered. The last attempts may not be logged yet."""
    db = await Database.connect(gateway.dsn, connections=1)
    try:
        for _ in range(40):
            async with db.connection() as conn:
                missing = await conn.fetchval(_MISSING, tenant.channel_id, url)
            if not missing:
                return
            await asyncio.sleep(0.25)
    finally:
        await db.close()
    raise BenchFailed(f"{missing} webhooks were not delivered.")


_MISSING = """SELECT count(*) FROM endpoints p JOIN deliveries d ON d.channel_id = $1 AND d.endpoint_id = p.id
              WHERE p.channel_id = $1 AND p.url = $2 AND d.state <> 1"""
