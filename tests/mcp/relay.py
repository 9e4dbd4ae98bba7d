"""`gatepost mcp` as an MCP client starts it, and a small HTTP server in place of a gateway."""

import json
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.patience import PATIENCE

KEY = "gpk_test"
MODERN = "2026-07-28"
Respond = Callable[["Request"], None]


class Request:
    """A request that the server got. `answer` responds to it."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self.path, self.headers = handler.path, handler.headers
        self.raw = handler.rfile.read(int(handler.headers["Content-Length"]))
        self.body: Any = json.loads(self.raw)
        self._handler = handler

    def answer(self, result: Any = None, **more: Any) -> None:
        """Respond with a result for the request's id."""
        self.respond(200, {"jsonrpc": "2.0", "id": self.body.get("id"), "result": result or {}, **more})

    def respond(self, status: int, body: Any = None, kind: str = "application/json", **headers: str) -> None:
        """Respond with a body: bytes, or anything as JSON."""
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        self._handler.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **headers}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._handler.wfile.write(content)
        self._handler.wfile.flush()

    def begin_stream(self) -> Callable[[bytes], None]:
        """Respond with a stream of events; return the function that writes to it."""
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "text/event-stream")
        self._handler.send_header("Connection", "close")
        self._handler.end_headers()

        def write(content: bytes) -> None:
            self._handler.wfile.write(content)
            self._handler.wfile.flush()

        return write

    def hang_up(self) -> None:
        """Close the connection without a response."""
        self._handler.close_connection = True
        self._handler.connection.close()

    def wait_for_hang_up(self) -> bool:
        """Wait until the client closes the connection."""
        self._handler.connection.settimeout(PATIENCE)
        return not self._handler.connection.recv(1)


@contextmanager
def http_server(respond: Respond, port: int = 0) -> Iterator[str]:
    """Serve requests with a function, each in a thread of its own; give the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            respond(Request(self))

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

        def handle_error(self, *_: Any) -> None:
            pass

        def process_request(self, connection: Any, address: Any) -> None:
            connections.append(connection)
            super().process_request(connection, address)

    connections: list[socket.socket] = []
    with Server(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(PATIENCE)
            for connection in connections:  # as at the end of a process
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


# A shell starts background programs so that they ignore Ctrl-C, and so would the programs that they start.
_START = """
import runpy, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
{before}
runpy.run_module("gatepost.cli", run_name="__main__")
"""

# The operating system may give a signal of the process to any thread; here only this one takes Ctrl-C.
ANOTHER_THREAD_GETS_SIGNALS = """
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
"""


class RelayProcess:
    """A running `gatepost mcp`."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, *messages: Any) -> None:
        """Write a line for each message; bytes are written as they are."""
        assert self.process.stdin
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        """Return the next line of stdout."""
        return json.loads(self._lines.get(timeout=PATIENCE))

    def ask(self, message: Any) -> Any:
        """Write a message, and return the next line."""
        self.send(message)
        return self.read()

    def close(self) -> tuple[list[bytes], str]:
        """Close stdin; return the lines that were not read yet, and stderr."""
        assert self.process.stdin
        assert self.process.stderr
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        self._reader.join(PATIENCE)
        return list(self._lines.queue), self.process.stderr.read().decode()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)


@contextmanager
def relay(
    url: str | None, *arguments: str, key: str = KEY, before: str = "", **environment: str
) -> Iterator[RelayProcess]:
    """Run `gatepost mcp` for a gateway, after the Python code `before`."""
    given = {"GATEPOST_KEY": key, **({"GATEPOST_URL": url} if url else {}), **environment}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
    command = [sys.executable, "-c", _START.format(before=before), "mcp", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env={**kept, **given}) as process:
        try:
            yield RelayProcess(process)
        finally:
            process.kill()


def request(method: str, id_: Any = 1, **params: Any) -> dict[str, Any]:
    """Return a request of a client of 2025."""
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def modern(method: str, id_: Any = 1, **params: Any) -> dict[str, Any]:
    """Return a request of a client of 2026, which says in each request what it is."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "Helper", "version": "2.1"},
    }
    return request(method, id_, **params, _meta=meta)
