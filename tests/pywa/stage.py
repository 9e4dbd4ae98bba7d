"""pywa as its users have it, a sandbox for it to speak to, and a server for its webhooks, all on loopback.

pywa is not changed: its `session` leads the network's own host names to the sandbox, its `server` is an app of ours.
"""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator
from queue import Queue
from typing import Any

import httpx
import uvicorn
from pywa.client import WhatsApp
from pywa.handlers import RawUpdateHandler
from starlette.applications import Starlette

from tests.patience import PATIENCE

NUMBER = "106540352242922"
PHONE = "15550783881"
TOKEN = "EAAtoken"
SECRET = "app-secret"
VERIFY = "verify-me"
WABA = "102290129340398"
APP = "634974688087057"
BUSINESS = "506914307656634"
PERSON = "5511999990000"
NETWORK = {"graph.facebook.com", "api.facebook.com", "127.0.0.1"}


class ToSandbox(httpx.HTTPTransport):
    """Leads requests to the network to the sandbox instead, and lets nothing else out."""

    def __init__(self, port: int) -> None:
        super().__init__(trust_env=False, verify=False)  # nothing leaves loopback
        self._port = port

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        assert request.url.host in NETWORK, request.url
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        request.headers["host"] = f"127.0.0.1:{self._port}"
        return super().handle_request(request)


class Hooks:
    """A web server that passes everything to the app of the moment."""

    def __init__(self) -> None:
        self.app: Callable[..., Awaitable[None]] | None = None
        self.url = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert self.app is not None
        await self.app(scope, receive, send)


@contextlib.contextmanager
def hooks_running() -> Iterator[Hooks]:
    """A server on a port of its own, in a thread."""
    hooks, ports = Hooks(), Queue[int]()
    config = uvicorn.Config(
        hooks, host="127.0.0.1", port=0, lifespan="off", log_config=None, access_log=False, ws="none"
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[assignment,method-assign]

    async def serve() -> None:
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.005)
        ports.put(server.servers[0].sockets[0].getsockname()[1])
        await serving

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    hooks.url = f"http://127.0.0.1:{ports.get(timeout=PATIENCE)}"
    try:
        yield hooks
    finally:
        server.should_exit = True
        thread.join()


class Stage:
    """One test's pywa client, a client of the sandbox's control API, and all updates that pywa received."""

    def __init__(self, port: int, hooks: Hooks) -> None:
        self.control_client = httpx.Client(base_url=f"http://127.0.0.1:{port}/control/", trust_env=False, verify=False)
        self._port, self.hooks = port, hooks
        self.raw: Queue[dict[str, Any]] = Queue()
        self.sessions: list[httpx.Client] = []
        self.wa = self.client()

    def client(self, **options: Any) -> WhatsApp:
        """A pywa client that listens at the server from now on."""
        session = httpx.Client(transport=ToSandbox(self._port), trust_env=False, timeout=PATIENCE)
        self.sessions.append(session)
        self.hooks.app = app = Starlette()
        settings: dict[str, Any] = {
            "phone_id": NUMBER,
            "token": TOKEN,
            "session": session,
            "server": app,
            "verify_token": VERIFY,
            "waba_id": WABA,
            "app_id": APP,
            "app_secret": SECRET,
            "business_portfolio_id": BUSINESS,
            "webhook_challenge_delay": 0,
        }
        wa = WhatsApp(**settings | options)
        wa.add_handlers(RawUpdateHandler(lambda _, update: self.raw.put(dict(update))))
        return wa

    def control(self, method: str, path: str, body: Any = None) -> Any:
        """A control request that is expected to succeed."""
        reply = self.control_client.request(method, path, json=body)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def register(self, callback_url: str | None = None, **changes: Any) -> None:
        """Register the number; without an address pywa has to bring its own."""
        spec: dict[str, Any] = {
            "phone_number_id": NUMBER,
            "phone": PHONE,
            "token": TOKEN,
            "app_secret": SECRET,
            "name": "Acme",
        }
        spec |= {"callback_url": callback_url, "verify_token": VERIFY, "limits": {"pair_interval": None}}
        self.control("POST", "numbers", spec | changes)

    def advance(self, seconds: float) -> None:
        """Move time; what falls due has been posted when this returns."""
        self.control("POST", "clock", {"advance": seconds})

    def incoming(self, kind: str, content: Any = None, **more: Any) -> str:
        """Be a person who sends something."""
        seen = {"from": PERSON, "type": kind, **({kind: content} if content is not None else {}), **more}
        return str(self.control("POST", f"numbers/{NUMBER}/incoming", seen)["wamid"])

    def accepted(self) -> list[dict[str, Any]]:
        """What the network took, in the order it came."""
        entries: list[dict[str, Any]] = self.control("GET", "ledger?kind=accepted")["entries"]
        return entries

    def close(self) -> None:
        """End all connections, after the timers that use them: pywa registers its address in one."""
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join(PATIENCE)
        self.control_client.close()
        for session in self.sessions:
            session.close()
