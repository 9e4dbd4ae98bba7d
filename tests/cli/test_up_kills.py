"""`gatepost up` is killed while messages are sent: nothing is lost and nothing is sent twice."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gatepost.cli.http_call import call
from gatepost.cli.sandbox.control_client import ControlClient
from gatepost.store.embedded import EmbeddedPostgres
from tests.conftest import scratch_folder
from tests.thorough import choose

SENDS, KILL_AT = choose((200, (70, 140)), (80, (40,)))
PATIENCE = 120.0
# What a killed gateway held is free for the next one after the rest of its lease.
QUICK = {"GATEPOST_LEASE__TTL": "3", "GATEPOST_LEASE__RENEW": "1", "GATEPOST_SENDING__UNKNOWN_GRACE": "15"}


class Up:
    """`gatepost up` on two ports and a folder that stay the same from start to start."""

    def __init__(self, data: Path) -> None:
        self.data = data
        with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
            self.ports = [str(listener.getsockname()[1]) for listener in (one, other)]
        self.process = self._start()

    def kill_and_start(self) -> None:
        """What `kill -9` and then `make run` do."""
        self.process.kill()
        self.process.wait()
        self.process = self._start()

    def stop(self) -> int:
        """What Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=PATIENCE)

    def _start(self) -> "subprocess.Popen[bytes]":
        places = ["--port", self.ports[0], "--sandbox-port", self.ports[1], "--data", str(self.data)]
        with (self.data.parent / "up.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "gatepost.cli", "up", *places],
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **QUICK},
            )


@pytest.fixture
def up() -> Iterator[Up]:
    parent = scratch_folder()
    started = Up(parent / "data")
    yield started
    if started.process.poll() is None:
        started.process.kill()
        started.process.wait()

    async def stop_database() -> None:
        server = EmbeddedPostgres(started.data)
        await server.start()
        await server.stop()

    asyncio.run(stop_database())
    shutil.rmtree(parent, ignore_errors=True)


@pytest.fixture
def hooks() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The customer's web server: its address and the events that it received."""
    events: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            events.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", events
    server.shutdown()
    thread.join()
    server.server_close()


def persist(ask: Callable[[], Any]) -> Any:
    """What a careful client does: the same request again until it is answered."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return ask()
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


class Client:
    """One customer with the demo's key."""

    def __init__(self, data: Path) -> None:
        seen = persist(lambda: json.loads((data / "quickstart.json").read_text()))
        self.sandbox = seen["sandbox_url"]
        self._api = f"{seen['base_url']}/api/v1"
        self._bearer = {"Authorization": f"Bearer {seen['channels'][0]['api_key']}"}
        self.ids: list[str] = []

    def ask(self, path: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
        return call(f"{self._api}{path}", body, {**self._bearer, **headers})

    def send_all(self) -> None:
        for number in range(SENDS):
            body = {"phone": f"55119{number:08}", "body": f"message {number}"}
            key = {"Idempotency-Key": f"send-{number}"}
            answer = persist(lambda body=body, key=key: self.ask("/message/send", body, **key))  # type: ignore[misc]
            self.ids.append(answer["data"]["key"]["id"])

    def accepted(self) -> list[dict[str, Any]]:
        """What the network says it took."""
        found: list[dict[str, Any]] = call(f"{self.sandbox}/control/ledger?kind=accepted&limit=10000")["entries"]
        return found

    def statuses(self) -> Counter[str]:
        """Count the messages by status."""
        counted: Counter[str] = Counter()
        cursor = ""
        while True:
            path = f"/messages?direction=out&limit=100{cursor}"
            page = persist(lambda path=path: self.ask(path))  # type: ignore[misc]
            counted.update(message["status"] for message in page["data"])
            if page["paging"]["next"] is None:
                return counted
            cursor = f"&cursor={page['paging']['next']}"

    def events(self) -> list[dict[str, Any]]:
        """The whole feed."""
        read: list[dict[str, Any]] = []
        after = ""
        while True:
            page = self.ask(f"/events?limit=100{after}")
            read += page["data"]
            if not page["data"]:
                return read
            after = f"&after={page['paging']['next']}"


@pytest.mark.timeout(400)
def test_kills_between_sends_lose_and_double_nothing(up: Up, hooks: tuple[str, list[dict[str, Any]]]) -> None:
    client = Client(up.data)
    persist(lambda: client.ask("/webhooks", {"url": hooks[0]}))
    ControlClient(client.sandbox).put("people/5511900000007", {"name": "Ana", "character": "silent"})
    sending = threading.Thread(target=client.send_all)
    sending.start()
    for count in KILL_AT:
        wait_until(lambda count=count: len(client.ids) >= count, "sends go on")  # type: ignore[misc]
        up.kill_and_start()
    sending.join()

    assert len(set(client.ids)) == SENDS
    wait_until(lambda: client.statuses() == {"READ": SENDS - 1, "DELIVERED": 1}, "everything is read")
    received = Counter(row["to"] for row in client.accepted())
    assert received == {f"55119{number:08}": 1 for number in range(SENDS)}
    kept = call(f"{client.sandbox}/control/people/5511900000007")
    assert (kept["name"], kept["character"]) == ("Ana", "silent")

    feed = client.events()
    assert [event["sequence"] for event in feed] == list(range(1, len(feed) + 1))
    acks = [event for event in feed if event["type"] == "ack_notification" and event["action"] == "message"]
    read = Counter(event["data"]["key"]["id"] for event in acks if event["data"]["status"] == "READ")
    assert len(read) == SENDS - 1
    assert set(read.values()) == {1}
    seen = {event["id"] for event in acks}
    wait_until(lambda: seen <= {event["id"] for event in hooks[1]}, "every status reaches the webhook")

    assert up.stop() == 0
    with pytest.raises(OSError, match="refused"):
        call(f"{client.sandbox}/healthz")
