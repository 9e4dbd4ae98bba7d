"""A real receiver of callbacks and a plain HTTP driver of the sandbox, for the tests of this folder."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pyreqwest.client import Client

from tests.listening import stop_listening

NUMBER = "106540352242922"
PHONE = "15550783881"
TOKEN = "EAAtoken"
SECRET = "app-secret"
VERIFY = "verify-me"
WABA = "102290129340398"
START = 1_700_000_000.0


class Receiver:
    """An HTTP server of its own that keeps every callback's exact bytes and checks its signature independently."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.signatures: list[str] = []
        self.handshakes: list[dict[str, str]] = []
        self.answer: Callable[[int], int | None] = lambda _: 200
        self.challenge_answer: str | None = None
        self.url = ""
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/callback"

    async def close(self) -> None:
        assert self._server is not None
        await stop_listening(self._server)
        serving = [task for task in self._open.values() if task is not None]
        for writer in self._open:
            writer.close()
        await asyncio.gather(*serving)
        await self._server.wait_closed()

    def updates(self) -> list[dict[str, Any]]:
        """Every status and message received, in order of arrival."""
        found: list[dict[str, Any]] = []
        for body in self.bodies:
            for change in json.loads(body)["entry"][0]["changes"]:
                found += change["value"].get("statuses", []) + change["value"].get("messages", [])
        return found

    def labels(self) -> list[str]:
        """What each received update says: the status, or the type of a message."""
        return [update.get("status") or update["type"] for update in self.updates()]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = asyncio.current_task()
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                request, *lines = head.decode().strip().split("\r\n")
                headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                method, target, _ = request.split(" ")
                answer = self._shake(target) if method == "GET" else self._take(headers, body)
                if answer is None:
                    break
                status, text = answer
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            del self._open[writer]
            writer.close()

    def _shake(self, target: str) -> tuple[int, str]:
        query = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
        self.handshakes.append(query)
        if query["hub.mode"] != "subscribe" or query["hub.verify_token"] != VERIFY:
            return 403, "wrong token"
        return 200, self.challenge_answer or query["hub.challenge"]

    def _take(self, headers: dict[str, str], body: bytes) -> tuple[int, str] | None:
        expected = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        assert headers["content-type"] == "application/json"
        self.signatures.append("good" if headers["x-hub-signature-256"] == expected else "bad")
        self.bodies.append(body)
        status = self.answer(len(self.bodies))
        return None if status is None else (status, "")


class Reply:
    """An HTTP answer, read in full."""

    def __init__(self, status: int, body: bytes, trace_id: str | None) -> None:
        self.status = status
        self.raw = body
        self.trace_id = trace_id

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def code(self) -> int:
        """The network's error code."""
        return int(self.json["error"]["code"])

    @property
    def wamid(self) -> str:
        return str(self.json["messages"][0]["id"])


class Driver:
    """A client of one sandbox: its network API, and its control API."""

    def __init__(self, client: Client, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self._client = client

    async def call(self, method: str, path: str, body: Any = None, token: str | None = None) -> Reply:
        request = self._client.request(method, self.base + path)
        if token is not None:
            request = request.bearer_auth(token)
        if body is not None:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            request = request.header("Content-Type", "application/json").body_bytes(raw)
        response = await request.build().send()
        return Reply(response.status, bytes(await response.bytes()), response.get_header("x-fb-trace-id"))

    async def control(self, method: str, path: str, body: Any = None) -> Any:
        """A control request that is expected to succeed."""
        reply = await self.call(method, f"/control/{path}", body)
        assert reply.status == 200, reply.raw
        return reply.json

    async def register(self, callback_url: str | None = None, **changes: Any) -> Any:
        spec: dict[str, Any] = {"phone_number_id": NUMBER, "phone": PHONE, "token": TOKEN, "app_secret": SECRET}
        spec |= {"callback_url": callback_url, "verify_token": VERIFY, "name": "Acme"} | changes
        return await self.control("POST", "numbers", spec)

    async def post(self, payload: Any, number: str = NUMBER, token: str | None = TOKEN) -> Reply:
        return await self.call("POST", f"/v25.0/{number}/messages", payload, token)

    async def text(self, to: str = "5511999990000", body: str = "hello", **more: Any) -> Reply:
        return await self.post(text_payload(to, body, **more))

    async def advance(self, seconds: float, **more: Any) -> Any:
        return await self.control("POST", "clock", {"advance": seconds, **more})

    async def ledger(self, **query: Any) -> list[dict[str, Any]]:
        asked = "&".join(f"{name}={value}" for name, value in query.items())
        entries: list[dict[str, Any]] = (await self.control("GET", f"ledger?{asked}"))["entries"]
        return entries

    async def counts(self) -> dict[str, int]:
        total: dict[str, int] = (await self.control("GET", "ledger/summary"))["total"]
        return total


def text_payload(to: str, body: str, **more: Any) -> dict[str, Any]:
    return {"messaging_product": "whatsapp", "to": to, "type": "text", "text": {"body": body}, **more}
