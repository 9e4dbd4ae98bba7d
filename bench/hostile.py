"""The worst input of each kind, sent to a running gateway: how long is the event loop blocked?

    an input ─► the gateway, one at a time ─► its own watchdog logs every stall ─► the longest of them

The watchdog has a heartbeat of a few milliseconds here. On a busy machine a stall is longer than what causes it: `own`
is the maximum CPU time that the gateway itself used during a stall.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
from pyreqwest.client import Client
from pyreqwest.exceptions import PyreqwestError

from bench.accept import ShowProgress
from bench.data_folder import write_config
from bench.endpoints import Hooks
from bench.gateway import Gateway, new_client, running_gateway
from bench.hostile_inputs import (
    PHONE,
    Input,
    callbacks,
    checks,
    json_bodies,
    questions,
    sign,
    tables,
    templates,
    uploads,
)
from bench.processes import running
from bench.tenant import Tenant, make_tenant

AIM = 0.05  # seconds
_WATCHDOG = '[watchdog]\nstall = 0.01\ninterval = 0.002\n[log]\nlevel = "warning"\nformat = "json"\n'
_PAGES = 6  # callbacks, so that their texts fill more than a page
_SETTLE = 1.0  # seconds in which background work of an input is attributed to it


class Stalled(msgspec.Struct, frozen=True):
    """The results of one input."""

    name: str
    status: int
    seconds: float  # until the response
    stall: float  # the longest stall meanwhile
    own: float  # maximum CPU time of the gateway in a stall, including its worker thread


class HostileFindings(msgspec.Struct, frozen=True):
    quiet: Stalled
    inputs: list[Stalled]

    @property
    def longest(self) -> float:
        return max(one.own for one in self.inputs)


async def measure_hostile(folder: Path, progress: ShowProgress) -> HostileFindings:
    """Send all inputs, one after the other."""
    config = write_config(folder)
    lines = config.read_text().replace('[log]\nlevel = "warning"\n', "")
    config.write_text(lines + _WATCHDOG)
    async with (
        running("bench.receiver") as receiver,
        running_gateway(folder, config) as gateway,
        new_client() as client,
    ):
        tenant = await make_tenant(gateway, config)
        port = (await receiver.receive())["port"]
        endpoint = await Hooks(gateway, client, tenant).make(f"http://127.0.0.1:{port}/", batch=100)
        attack = _Attack(gateway, tenant, client, folder / "gateway.log")
        quiet = await attack.run(Input("nothing (GET /healthz)", "GET", "/healthz"))
        found = []
        async for one in _inputs(attack, tenant, endpoint):
            found.append(await attack.run(one))
            progress(f"hostile: {one.name}: {found[-1].stall * 1000:.0f} ms")
        return HostileFindings(quiet, found)


async def _inputs(attack: "_Attack", tenant: Tenant, endpoint: str) -> AsyncIterator[Input]:
    """Yield all inputs. The longest texts are the oldest events and the newest messages, which queries return first."""
    longest = next(callbacks(tenant.channel))
    for _ in range(_PAGES):
        yield longest
    for one in (*json_bodies(), *templates(), *checks(endpoint), *callbacks(tenant.channel)):
        yield one
    for _ in range(_PAGES):
        await attack.run(longest)
    for one in (*questions(await attack.conversation()), *tables(), *uploads()):
        yield one
    yield Input("contacts, csv, after the imports", "GET", "contacts/export?format=csv")


class _Attack:
    """A client that sends the inputs as one tenant."""

    def __init__(self, gateway: Gateway, tenant: Tenant, client: Client, log: Path) -> None:
        self._url, self._tenant, self._client, self._log = f"http://127.0.0.1:{gateway.port}", tenant, client, log

    async def run(self, one: Input) -> Stalled:
        body, before = one.body(), self._log.stat().st_size
        began = time.perf_counter()
        status, _ = await self._send(one, body)
        took = time.perf_counter() - began
        await asyncio.sleep(_SETTLE)
        stall, own = _longest(self._log, before)
        return Stalled(one.name, status, took, stall, own)

    async def conversation(self) -> str:
        """Return the id of the conversation of all messages."""
        _, answer = await self._send(Input("", "GET", f"contacts?phone={PHONE}"), b"")
        contact: str = msgspec.json.decode(answer)["data"][0]["id"]
        return contact.replace("ct_", "cv_")

    async def _send(self, one: Input, body: bytes) -> tuple[int, bytes]:
        path = one.path if one.path.startswith("/") else f"/api/v1/{one.path}"
        headers = {"authorization": f"Bearer {self._tenant.key}", "content-type": one.kind}
        if one.signed:
            headers["x-hub-signature-256"] = sign(body)
        request = self._client.request(one.method, self._url + path).headers(headers)
        try:
            async with request.body_bytes(body).build_streamed() as answer:
                first = bytes(await answer.body_reader.read(65_536) or b"")
                while await answer.body_reader.read_chunk():
                    pass
                return answer.status, first
        except PyreqwestError:  # rejected and closed before everything was sent
            return 0, b""


def _longest(log: Path, start: int) -> tuple[float, float]:
    """Return the longest stall that was logged after a position, and the maximum CPU time in one."""
    with log.open("rb") as file:
        file.seek(start)
        stalls = [_stall(line) for line in file if b'"event loop runs again"' in line]
    return max((stall for stall, _ in stalls), default=0.0), max((min(pair) for pair in stalls), default=0.0)


def _stall(line: bytes) -> tuple[float, float]:
    seen = msgspec.json.decode(line)
    return seen["seconds"], seen["cpu"]
