"""A complete gateway in a test: the real app over HTTP, a real sandbox, a real database.

async with running_gateway(database_url) as gateway:
    sent = await gateway.send(phone="5511999998888", body="Hello")
    await gateway.until_status(sent, "READ")
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import UUID

import msgspec
import pytest
import uvicorn
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.request import RequestBuilder

from gatepost import owned_channel, serving
from gatepost.admin import accounts, channels, keys
from gatepost.admin.vault import Vault
from gatepost.app import Gatepost
from gatepost.clock import Clock, SystemClock
from gatepost.inbound import link_keeper as inbound_link
from gatepost.model import ids
from gatepost.settings import Settings, load
from gatepost.store.channels import ChannelConfig
from gatepost.store.pool import Database
from gatepost_sandbox import SandboxSettings, create_app
from gatepost_sandbox.server import server_config
from tests.conftest import serve_config
from tests.events import check_all_events
from tests.movable_clock import MovableClock
from tests.patience import PATIENCE, patience
from tests.reused_database import connected

QUICK = {
    "sending.unknown_grace": 0.5,
    "sending.retry_base": 0.05,
    "lease.sweep": 0.2,
    "webhooks.allow": ["127.0.0.0/8"],
    "api.rate": 100_000,
    "api.burst": 100_000,
    "api.wrong_keys": 0,
    "api.costly_per_key": 1_000,
    "api.costly": 1_000,
}
REVIEW = 3600.0  # seconds of the network's clock: templates are only reviewed when a test moves it
FAST_NETWORK = {"throughput": 1000, "pair_seconds": 0, "pair_burst": 10_000, "tier": 0, "window": 0}


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Gateway:
    """A running gateway, with methods to use it."""

    def __init__(
        self,
        url: str,
        sandbox_url: str,
        db: Database,
        vault: Vault,
        settings: Settings,
        client: Client,
        clock: Clock | None = None,
    ) -> None:
        self.url = url
        self.sandbox_url = sandbox_url
        self.db = db
        self.vault = vault
        self.settings = settings
        self.clock = clock or SystemClock()
        self._client = client
        self.account_id = UUID(int=0)
        self.channel = ""
        self.key = ""

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] = {},
        raw: bytes | None = None,
    ) -> Answer:
        """Send a request to the API, with the demo key unless another (or none: "") is given."""
        request = self._client.request(method, path if path.startswith("http") else self.url + path)
        sent: dict[str, str] = {}
        wanted = self.key if key is None else key
        if wanted:
            sent["authorization"] = f"Bearer {wanted}"
        if body is not None or raw is not None:
            sent["content-type"] = "application/json"
            request = request.body_bytes(raw if raw is not None else msgspec.json.encode(body))
        return await _answer(request.headers(sent | dict(headers)))

    async def call_in_pieces(self, method: str, path: str, pieces: Sequence[bytes]) -> Answer:
        """Send a request with a chunked body, without a length."""
        request = self._client.request(method, self.url + path).body_stream(_stream(pieces))
        return await _answer(
            request.headers({"authorization": f"Bearer {self.key}", "content-type": "application/json"})
        )

    async def sandbox(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request to the sandbox's control API."""
        answer = await self.call(method, self.sandbox_url + path, body, key="")
        assert answer.status == 200, answer.body
        return answer.json()

    async def send(self, **fields: Any) -> str:
        """Send a message that must be accepted; return its id."""
        answer = await self.call("POST", "/api/v1/message/send", fields)
        assert answer.status == 200, answer.body
        message_id: str = answer.json()["data"]["key"]["id"]
        return message_id

    async def status(self, message_id: str) -> str:
        status: str = (await self.call("GET", f"/api/v1/messages/{message_id}")).json()["data"]["status"]
        return status

    async def until_status(self, message_id: str, wanted: str, seconds: float = PATIENCE) -> None:
        """Wait until a message has a status."""
        status = ""
        async with patience(lambda: f"message {message_id} is {status}, not {wanted}", seconds):
            while (status := await self.status(message_id)) != wanted:
                await asyncio.sleep(0.05)

    async def new_account(self, plan: str = "unlimited", trial_days: int = 14) -> UUID:
        account = await accounts.create_account(
            self.db, "Test", plan, plans=self.settings.plans, trial_days=trial_days, now=self.clock.now()
        )
        return account.id

    async def new_channel(
        self,
        account_id: UUID,
        phone: str = "15550001111",
        number_id: str = "100000000000001",
        limits: Mapping[str, float] = FAST_NETWORK,
        waba_id: str | None = None,
    ) -> ChannelConfig:
        """Create an official channel that is registered at the sandbox; with a business account, it has templates."""
        channel = await channels.create_official(
            self.db,
            self.vault,
            account_id,
            phone=phone,
            name="Test",
            number=channels.CloudNumber(number_id, waba_id),
            token="token",
            app_secret="app-secret",
            verify_token="verify",
            limits=limits,
            now=self.clock.now(),
        )
        number = {
            "phone_number_id": number_id,
            "phone": phone,
            "token": "token",
            "app_secret": "app-secret",
            "verify_token": "verify",
            "callback_url": f"{self.url}/callbacks/cloud/{ids.format_id('ch', channel.id)}",
        }
        await self.sandbox("POST", "/control/numbers", number | ({"waba_id": waba_id} if waba_id else {}))
        return channel

    async def new_qr_channel(self, account_id: UUID, phone: str = "15550003333") -> ChannelConfig:
        """Create a QR channel that has no linked phone yet."""
        return await channels.create_qr(
            self.db, account_id, phone=phone, name="Test", limits=FAST_NETWORK, now=self.clock.now()
        )

    async def new_stranger(self) -> str:
        """Return the key of another account with its own channel."""
        channel = await self.new_channel(await self.new_account(), "15550002222", "100000000000002")
        return await self.new_key(channel.id)

    async def new_key(self, channel_id: UUID, **options: Any) -> str:
        new = await keys.create_key(self.db, channel_id, "test", now=self.clock.now(), **options)
        return new.text


class ListeningGatepost(Gatepost):
    """Is started once it gets notifications: those that are sent before are lost, and some are not repeated."""

    _listening: asyncio.Event | None = None

    async def start(self) -> None:
        self._listening = asyncio.Event()
        await super().start()
        async with patience(lambda: "the gateway does not listen to notifications"):
            await self._listening.wait()

    def on_listening(self) -> None:
        super().on_listening()
        if self._listening is not None:
            self._listening.set()


async def _answer(request: RequestBuilder) -> Answer:
    """Return the complete response; of an event stream, which does not end, only the first chunk."""
    async with request.streamed_read_buffer_limit(0).build_streamed() as response:
        headers = {name.lower(): value for name, value in response.headers.items()}
        if headers.get("content-type", "").startswith("text/event-stream"):
            return Answer(response.status, headers, bytes(await response.body_reader.read_chunk() or b""))
        return Answer(response.status, headers, bytes(await response.bytes()))


async def _stream(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


@asynccontextmanager
async def running_sandbox(settings: SandboxSettings) -> AsyncIterator[str]:
    """Run the real sandbox in the running loop, on a free port."""
    async with _sandbox(settings) as (url, _):
        yield url


@asynccontextmanager
async def _sandbox(settings: SandboxSettings) -> AsyncIterator[tuple[str, Callable[[], Awaitable[None]]]]:
    """Run the sandbox; also yield a function that ends requests that hang because of a fault."""
    app = create_app(settings)
    async with serve_config(server_config(app)) as url:
        yield url, app.world.release
        await app.world.release()


@asynccontextmanager
async def running_gateway(
    database_url: str,
    *,
    clock: Clock | None = None,
    role: str = "all",
    sandbox: SandboxSettings | None = None,
    **overrides: Any,
) -> AsyncIterator[Gateway]:
    """Run a gateway with one account, one official channel at the sandbox, and one key. Overrides: server__port=…"""
    network = sandbox or _quick_sandbox()
    with tempfile.TemporaryDirectory() as folder, _looking_often():
        async with _sandbox(network) as (sandbox_url, release):
            link_url = f"ws{sandbox_url.removeprefix('http')}/qr/link"
            values = QUICK | {"data": folder, "cloud.base_url": sandbox_url, "database.url": database_url}
            values["qr.link_url"] = link_url
            if isinstance(clock, MovableClock):  # a test that advances it must not end the leases
                values["lease.ttl"] = 10_000 * 86_400
            values |= {name.replace("__", "."): value for name, value in overrides.items()}
            settings = load(environ={}, overrides=values)
            async with connected(database_url, settings.database.connections) as db:
                time = clock or SystemClock()
                gatepost = ListeningGatepost(settings, db, database_url, time, role)
                await gatepost.start()
                client = ClientBuilder().no_proxy().build()
                try:
                    async with serve_config(gateway_config(gatepost, settings)) as url, client:
                        gateway = Gateway(url, sandbox_url, db, gatepost.vault, settings, client, time)
                        gateway.account_id = await gateway.new_account()
                        channel = await gateway.new_channel(gateway.account_id)
                        gateway.channel, gateway.key = (
                            ids.format_id("ch", channel.id),
                            await gateway.new_key(channel.id),
                        )
                        yield gateway
                        gatepost.end_streams()
                        await release()
                    await check_all_events(db)
                finally:
                    await gatepost.stop()


def gateway_config(gatepost: Gatepost, settings: Settings) -> uvicorn.Config:
    """Return the gateway's server configuration, with a short wait for clients that do not disconnect."""
    config = serving.server_config(gatepost, settings)
    config.timeout_graceful_shutdown = 1
    return config


@contextmanager
def _looking_often() -> Iterator[None]:
    """Shorten waits of many tests: owners refresh every 0.1 seconds, and links reconnect quickly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owned_channel, "_REFRESH_EVERY", 0.1)
        # A link that breaks again within a minute waits 1, 2, 4 … 60 s, and tests that share a link break it often.
        patch.setattr(inbound_link, "_FIRST_WAIT", 0.1)
        patch.setattr(inbound_link, "_LONGEST_WAIT", 0.5)
        yield


def _quick_sandbox() -> SandboxSettings:
    return msgspec.convert(
        {
            "delays": {"sent": 0.01, "delivered": 0.03, "read": 0.05},
            "limits": {"throughput": None, "pair_interval": None},
            "management": {"review_delay": REVIEW},
            "callbacks": {"connections": 1},  # statuses arrive in order, so that every test sees each of them
        },
        SandboxSettings,
    )
