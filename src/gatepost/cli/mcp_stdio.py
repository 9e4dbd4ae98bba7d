"""MCP over stdin and stdout: each line is posted to the MCP endpoint of a gateway, and its answer is printed.

line of stdin ─► headers from the message ─► POST /mcp, a thread each ─► answer, one line of stdout
   notification: posted, no answer                    ├ refused (401, 402, …): a JSON-RPC error with our text and code
   notifications/cancelled: closes the request        └ gateway away: a JSON-RPC error that says it is retryable

Nothing else is ever written to stdout. The relay ends when stdin does.
"""

import base64
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from typing import Any, BinaryIO

import msgspec

from gatepost import __version__
from gatepost.cli.mcp_http import Canceled, Exchange, McpEndpoint, NotConnected, ResponseLost, read_events
from gatepost.model.mcp_call import CLIENT_KEY, REFUSED, REQUEST_MAX, UNAVAILABLE, VERSION_KEY

AT_ONCE = 256
_READ_MAX = 8 * REQUEST_MAX  # a longer line is not read to the end, so that its id is not known
_LAST_ANSWERS = 30.0  # how long to wait for answers after stdin has ended
_INTERRUPTED = 130  # the exit code after Ctrl-C

PARSE_ERROR, INVALID_REQUEST = -32700, -32600  # JSON-RPC error codes

_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}  # what Mcp-Name repeats
_PLAIN = re.compile(r"(?! )[\x20-\x7e]*(?<! )")
_AGAIN = "Call it again: a call that took effect within the last ten minutes is not executed twice."
_UNKNOWN = "It may have been sent. Read the conversation first: a call with `again` is executed each time."

Message = dict[str, Any]


class Relay:
    """Posts messages to an endpoint and writes the answers, each with one call of `write`."""

    def __init__(self, endpoint: McpEndpoint, key: str, write: Callable[[bytes], None]) -> None:
        self._endpoint = endpoint
        self._key = key
        self._write = write
        self._lock = threading.Lock()
        self._open: dict[bytes, Exchange] = {}
        self._threads: set[threading.Thread] = set()
        self._version: str | None = None  # what `initialize` agreed on; newer clients name it in each request
        self._client = f"gatepost-mcp/{__version__}"

    def run(self, stdin: BinaryIO) -> None:
        """Relay all lines of stdin, then wait for the last answers."""
        for line in _lines(stdin):
            self._take(line)
        with self._lock:
            streams = [exchange for exchange in self._open.values() if exchange.streaming]
            threads = list(self._threads)
        for exchange in streams:
            exchange.cancel()
        for thread in threads:
            thread.join(_LAST_ANSWERS)

    def _take(self, line: bytes) -> None:
        if len(line) > REQUEST_MAX:
            note = f"The message is longer than {REQUEST_MAX:,} bytes, the most that the gateway takes."
            self._fail(_id_of(line), INVALID_REQUEST, note, code="body_too_large")
            return
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            self._fail(None, PARSE_ERROR, f"The line is not JSON: {error}", code="malformed_json")
            return
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            if not (isinstance(message, dict) and ("result" in message or "error" in message)):
                note = "A line must be one JSON-RPC request or notification: an object with a method."
                id_ = message.get("id") if isinstance(message, dict) else None
                self._fail(id_, INVALID_REQUEST, note, code="malformed_json")
            return  # the gateway asks the client nothing, so an answer of the client belongs to no request
        if message["method"] == "notifications/cancelled":
            self._cancel(message)
            return
        self._start(message, line)

    def _start(self, message: Message, line: bytes) -> None:
        exchange = Exchange()
        with self._lock:
            busy = len(self._threads) >= AT_ONCE
            if not busy:
                thread = threading.Thread(target=self._exchange, args=(message, line, exchange), daemon=True)
                self._threads.add(thread)
                if "id" in message:
                    self._open[_key(message["id"])] = exchange
        if not busy:
            thread.start()
        elif "id" in message:
            note = f"{AT_ONCE} requests are in progress, and that is the most. Wait for an answer first."
            self._fail(message["id"], UNAVAILABLE, note, code="too_many_requests", retryable=True)

    def _cancel(self, message: Message) -> None:
        """Close the request that a notification names: the gateway ends it, and nothing is answered."""
        params = message.get("params")
        id_ = params.get("requestId") if isinstance(params, dict) else None
        with self._lock:
            exchange = self._open.get(_key(id_))
        if exchange is not None:
            exchange.cancel()

    def _exchange(self, message: Message, line: bytes, exchange: Exchange) -> None:
        try:
            with self._endpoint.post(line, self._headers(message), exchange) as response:
                self._answer(message, response, exchange)
        except Canceled:
            pass
        except NotConnected as error:
            note = f"The gateway at {self._endpoint.url} cannot be reached: {error}. Start it, then call again."
            self._lost(message, note)
        except ResponseLost as error:
            repeats = _repeats(message)
            note = f"The gateway closed the connection before it had answered: {error}."
            self._lost(message, f"{note} {_UNKNOWN if repeats else _AGAIN}", retryable=not repeats)
        except Exception as error:  # a bug: the client must not wait for ever
            self._lost(message, f"The relay failed: {type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._threads.discard(threading.current_thread())
                if "id" in message and self._open.get(_key(message["id"])) is exchange:
                    del self._open[_key(message["id"])]

    def _answer(self, message: Message, response: HTTPResponse, exchange: Exchange) -> None:
        if response.status == 200 and _kind(response) == "text/event-stream":
            exchange.streaming = True
            for event in read_events(response):
                self._pass_on(message, event, exchange)
            return
        body = response.read()
        if "id" not in message:
            if response.status >= 400:
                _log(f"The gateway refused {message['method']}: {_refusal(response, body)[0]}")
        elif response.status == 202 or not self._pass_on(message, body, exchange):
            note, data = _refusal(response, body)
            if _repeats(message) and response.status >= 500 and data["code"] == f"http_{response.status}":
                note, data = f"{note} {_UNKNOWN}", data | {"retryable": False}  # a proxy may have passed it on
            self._fail(message["id"], UNAVAILABLE if data["retryable"] else REFUSED, note, **data)

    def _pass_on(self, message: Message, body: bytes, exchange: Exchange) -> bool:
        """Write a JSON-RPC message of the gateway as one line; return whether it is one."""
        try:
            answer = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, RecursionError):
            return False
        if "jsonrpc" not in answer:
            return False
        if message["method"] == "initialize" and "result" in answer:
            self._version = _agreed_version(answer["result"])
        if "method" not in answer:  # an error that was found before the id was read has none
            answer["id"] = msgspec.Raw(_key(message["id"]))
        if not exchange.canceled:
            self._print(msgspec.json.format(msgspec.json.encode(answer), indent=-1))
        return True

    def _headers(self, message: Message) -> dict[str, str]:
        """Return the headers of a request. The gateway compares those of the protocol with the message."""
        method, params = message["method"], message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params["_meta"] if isinstance(params.get("_meta"), dict) else {}
        if method == "initialize":
            self._version = None
        if client := _client_name(meta.get(CLIENT_KEY) or (method == "initialize" and params.get("clientInfo"))):
            self._client = client
        headers = {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "User-Agent": self._client,
            "Gatepost-MCP-Transport": "stdio",
        }
        if isinstance(version := meta.get(VERSION_KEY), str):
            headers |= {"MCP-Protocol-Version": _header(version), "Mcp-Method": _header(method)}
            if isinstance(name := params.get(_NAMES.get(method, "")), str):
                headers["Mcp-Name"] = _header(name)
        elif self._version is not None:
            headers["MCP-Protocol-Version"] = _header(self._version)
        return headers

    def _lost(self, message: Message, note: str, *, retryable: bool = True) -> None:
        if "id" in message:
            self._fail(message["id"], UNAVAILABLE, note, code="gateway_unavailable", retryable=retryable)
        else:
            _log(note)

    def _fail(self, id_: Any, number: int, note: str, *, code: str, retryable: bool = False, **more: Any) -> None:
        data = {"code": code, "retryable": retryable, **more}
        answer = {"jsonrpc": "2.0", "id": id_, "error": {"code": number, "message": note, "data": data}}
        self._print(msgspec.json.encode(answer))

    def _print(self, line: bytes) -> None:
        with self._lock:
            self._write(line + b"\n")


def run_stdio(url: str, key: str) -> None:
    """Relay between this process's stdin and stdout and a gateway. Whatever else prints to stdout prints to stderr."""
    endpoint = McpEndpoint(url)
    sys.stdout.flush()
    protocol = os.dup(1)
    os.dup2(2, 1)
    if sys.stdin.isatty():
        _log(f"Waiting for JSON-RPC messages, one per line, for {endpoint.url}. An MCP client starts this command.")
    _end_on_interrupt()
    Relay(endpoint, key, lambda line: _write_all(protocol, line)).run(sys.stdin.buffer)


def _end_on_interrupt() -> None:
    """End the process on Ctrl-C by a thread.

    Python's own handler runs in the main thread. If the signal arrives just before that thread begins to read a line,
    or if another thread gets it, then the handler waits for the end of the line.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # programs in the background ignore it
    arrived, notify = os.pipe()
    os.set_blocking(notify, False)

    def wait() -> None:
        os.read(arrived, 1)
        os._exit(_INTERRUPTED)

    threading.Thread(target=wait, daemon=True).start()
    signal.set_wakeup_fd(notify)
    signal.signal(signal.SIGINT, lambda *_: None)


def _write_all(descriptor: int, line: bytes) -> None:
    """Write without a buffer of Python's, which could still be locked by a thread when the process ends."""
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except BrokenPipeError:
        pass  # the client has gone: its end of stdin is closed too


def _lines(stdin: BinaryIO) -> Iterator[bytes]:
    """Give the lines that are not blank, without their ends. Of a very long one only the beginning is kept."""
    while line := stdin.readline(_READ_MAX):
        part = line
        while not part.endswith(b"\n") and (part := stdin.readline(_READ_MAX)):
            pass
        if line := line.strip():
            yield line


def _id_of(line: bytes) -> Any:
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return message.get("id") if isinstance(message, dict) else None


def _key(id_: Any) -> bytes:
    """Return an id as JSON: "1" is not 1."""
    return msgspec.json.encode(id_)


def _repeats(message: Message) -> bool:
    """Return whether a call asks to send what was sent already, so that the gateway does not notice a repetition."""
    params = message.get("params")
    arguments = params.get("arguments") if isinstance(params, dict) else None
    return isinstance(arguments, dict) and arguments.get("again") is True


def _kind(response: HTTPResponse) -> str:
    return (response.getheader("Content-Type") or "").partition(";")[0].strip().lower()


def _header(value: str) -> str:
    """Return a text as the value of a header; in base64, as the protocol defines, if it is not plain ASCII."""
    if _PLAIN.fullmatch(value) and not value.startswith("=?base64?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _client_name(info: Any) -> str | None:
    """Return name and version of a client for the header User-Agent."""
    if not isinstance(info, dict) or not isinstance(info.get("name"), str):
        return None
    text = f"{info['name']}/{info.get('version') or ''}".rstrip("/")
    return "".join(character if "\x20" <= character <= "\x7e" else "?" for character in text)[:100].strip() or None


def _agreed_version(result: msgspec.Raw) -> str | None:
    version = msgspec.json.decode(result).get("protocolVersion")
    return version if isinstance(version, str) else None


def _refusal(response: HTTPResponse, body: bytes) -> tuple[str, dict[str, Any]]:
    """Return the text and the data of an error response: the gateway's own, or a proxy's."""
    status, retryable = response.status, response.status in (408, 429) or response.status >= 500
    data: dict[str, Any] = {"code": f"http_{status}", "retryable": retryable, "http_status": status}
    try:
        failure = msgspec.json.decode(body)
        error = failure["error"]
        if "jsonrpc" in failure:
            return str(error["message"]), data
        data |= {name: error[name] for name in ("code", "retryable", "request_id", "docs") if name in error}
        return str(failure["message"]), data
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError):
        pass
    if 300 <= status < 400:
        return f"The address redirects to {response.getheader('Location')}. Set GATEPOST_URL to that.", data
    return f"The address responded with {status}, and not as a gateway does. Check GATEPOST_URL.", data


def _log(text: str) -> None:
    print(f"gatepost mcp: {text}", file=sys.stderr, flush=True)
