"""`gatepost mcp`: lines of stdin become requests, responses become lines of stdout."""

import base64
import queue
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from gatepost.running_address import note_address
from tests.cli.conftest import invoke
from tests.mcp.relay import ANOTHER_THREAD_GETS_SIGNALS, KEY, MODERN, Request, http_server, modern, relay, request
from tests.patience import PATIENCE


def no_content(_: Request) -> None:
    raise AssertionError("nothing may be posted")


def test_a_client_of_2026() -> None:
    got: list[Request] = []

    def respond(asked: Request) -> None:
        got.append(asked)
        asked.answer({"method": asked.body["method"]})

    with http_server(respond) as url, relay(url) as client:
        assert client.ask(modern("tools/list", "a"))["result"] == {"method": "tools/list"}
        assert client.ask(modern("tools/call", 2, name="send_text", arguments={"body": "Olá"}))["id"] == 2
        client.ask(modern("resources/read", 3, uri="gatepost://conversations/ção"))
        client.ask(modern("prompts/get", 4, name=" spaced "))
        assert client.close() == ([], "")
    first, call, read, prompt = got
    assert {one.path for one in got} == {"/mcp"}
    for name, value in {
        "Authorization": f"Bearer {KEY}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/list",
        "Gatepost-MCP-Transport": "stdio",
        "User-Agent": "Helper/2.1",
    }.items():
        assert first.headers[name] == value
    assert first.headers["Mcp-Name"] is None
    assert (call.headers["Mcp-Method"], call.headers["Mcp-Name"]) == ("tools/call", "send_text")
    assert call.body["params"]["arguments"] == {"body": "Olá"}
    encoded = base64.b64encode("gatepost://conversations/ção".encode()).decode()
    assert read.headers["Mcp-Name"] == f"=?base64?{encoded}?="
    assert prompt.headers["Mcp-Name"] == f"=?base64?{base64.b64encode(b' spaced ').decode()}?="


def test_a_client_of_2025() -> None:
    got: list[Request] = []

    def respond(asked: Request) -> None:
        got.append(asked)
        if "id" not in asked.body:
            asked.respond(202)
        elif asked.body["method"] == "initialize":
            asked.answer({"protocolVersion": "2025-06-18", "capabilities": {}})
        else:
            asked.answer()

    with http_server(respond) as url, relay(f"{url}/") as client:
        client.ask(request("initialize", 0, protocolVersion="2025-11-25", clientInfo={"name": "Old\n", "version": "1"}))
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        client.ask(request("tools/list"))
        assert client.close() == ([], "")
    by_method = {one.body["method"]: one.headers for one in got}
    assert by_method["initialize"]["MCP-Protocol-Version"] is None
    for method in ("notifications/initialized", "tools/list"):
        headers = by_method[method]
        assert (headers["MCP-Protocol-Version"], headers["Mcp-Method"]) == ("2025-06-18", None)
        assert headers["User-Agent"] == "Old?/1"


def test_many_at_once_are_answered_in_any_order() -> None:
    together = threading.Barrier(50)

    def respond(asked: Request) -> None:
        together.wait(PATIENCE)  # none is answered before all are here
        asked.answer({"number": asked.body["id"]})

    with http_server(respond) as url, relay(url) as client:
        client.send(*(request("tools/list", number) for number in range(50)))
        answers = [client.read() for _ in range(50)]
        assert client.close() == ([], "")
    assert sorted(one["id"] for one in answers) == list(range(50))
    assert all(one["result"] == {"number": one["id"]} for one in answers)


def test_a_cancelled_request_is_closed_and_not_answered() -> None:
    begun: queue.Queue[Any] = queue.Queue()
    ended: queue.Queue[bool] = queue.Queue()

    def respond(asked: Request) -> None:
        if asked.body["params"].get("slow"):
            begun.put(asked.body["id"])
            ended.put(asked.wait_for_hang_up())
        else:
            asked.answer()

    with http_server(respond) as url, relay(url) as client:
        for id_, other in ((1, "1"), ("x", 1)):
            client.send(request("tools/call", id_, slow=True))
            assert begun.get(timeout=PATIENCE) == id_
            client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": other}})
            assert client.ask(request("ping", 2))["id"] == 2
            assert ended.empty()  # "1" is not 1
            client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}})
            assert ended.get(timeout=PATIENCE)
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}})
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
        assert client.ask(request("ping", 3))["id"] == 3
        assert client.close() == ([], "")


def test_the_gateway_is_away_and_comes_back() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with relay(f"http://127.0.0.1:{port}") as client:
        error = client.ask(request("tools/list"))["error"]
        assert (error["code"], error["data"]) == (-32000, {"code": "gateway_unavailable", "retryable": True})
        assert f"http://127.0.0.1:{port}/mcp cannot be reached" in error["message"]
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert client.process.stderr
        assert b"cannot be reached" in client.process.stderr.readline()
        for number in range(2):  # the second server is a restart: the connection that is kept open has ended
            with http_server(lambda asked: asked.answer(), port):
                assert client.ask(request("tools/list", number))["id"] == number
        assert client.ask(request("tools/list"))["error"]["data"]["retryable"]
        assert client.close() == ([], "")


def test_a_connection_that_ends_before_the_answer() -> None:
    def respond(asked: Request) -> None:
        asked.hang_up()

    with http_server(respond) as url, relay(url) as client:
        error = client.ask(request("tools/call"))["error"]
        assert (error["code"], error["data"]) == (-32000, {"code": "gateway_unavailable", "retryable": True})
        assert "not executed twice" in error["message"]


def test_a_lost_answer_to_a_call_that_is_executed_each_time() -> None:
    """The client is not asked to call again: the person would get the message twice."""

    def respond(asked: Request) -> None:
        if asked.body["id"] == 1:
            asked.hang_up()
        else:
            asked.respond(504, b"<html>Gateway timeout</html>")

    again = {"name": "send_text", "arguments": {"conversation": "cv_x", "text": "Hello", "again": True}}
    with http_server(respond) as url, relay(url) as client:
        for number in (1, 2):
            error = client.ask(request("tools/call", number, **again))["error"]
            assert error["data"]["retryable"] is False
            assert "may have been sent" in error["message"]


def refusal(code: str, message: str, *, retryable: bool = False) -> dict[str, Any]:
    error = {"code": code, "fields": [], "retryable": retryable, "request_id": "r1", "docs": "/docs/x"}
    return {"success": False, "message": message, "error": error}


def test_errors_before_the_protocol() -> None:
    answers = {
        "key": (401, refusal("invalid_key", "This key is not valid.")),
        "trial": (402, refusal("trial_ended", "The trial has ended.")),
        "scope": (403, refusal("missing_scope", "This key has no scope 'mcp'.")),
        "rate": (429, refusal("rate_limited", "Too many requests.", retryable=True)),
        "database": (503, refusal("database_unavailable", "The database cannot be reached.", retryable=True)),
        "proxy": (502, b"<html>Bad gateway</html>"),
        "moved": (308, b""),
        "nothing": (404, {"detail": "Not found"}),
        "accepted": (202, None),
        "array": (200, [1]),
        "deep": (200, b"[" * 100_000),
        "protocol": (400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32020, "message": "Header mismatch"}}),
        "expired": (401, {"jsonrpc": "2.0", "id": None, "error": {"code": -32003, "message": "This key has expired."}}),
        "pretty": (200, b'{"jsonrpc": "2.0",\n  "id": "pretty",\r\n "result": {"a":\n "b\\n"}}'),
    }

    def respond(asked: Request) -> None:
        status, body = answers[asked.body.get("id") or "expired"]
        asked.respond(status, body, Location="https://new.example.com/mcp")

    with http_server(respond) as url, relay(url) as client:
        seen = {id_: client.ask(request("tools/list", id_)) for id_ in answers}
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        rest, errors = client.close()
    assert rest == []
    assert errors == "gatepost mcp: The gateway refused notifications/initialized: This key has expired.\n"
    for id_, answer in seen.items():
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", id_)
    assert seen["key"]["error"] == {
        "code": -32003,
        "message": "This key is not valid.",
        "data": {"code": "invalid_key", "retryable": False, "http_status": 401, "request_id": "r1", "docs": "/docs/x"},
    }
    found = {
        id_: (answer["error"]["code"], answer["error"]["data"]["code"])
        for id_, answer in seen.items()
        if "data" in answer.get("error", {})
    }
    assert found == {
        "key": (-32003, "invalid_key"),
        "trial": (-32003, "trial_ended"),
        "scope": (-32003, "missing_scope"),
        "rate": (-32000, "rate_limited"),
        "database": (-32000, "database_unavailable"),
        "proxy": (-32000, "http_502"),
        "moved": (-32003, "http_308"),
        "nothing": (-32003, "http_404"),
        "accepted": (-32003, "http_202"),
        "array": (-32003, "http_200"),
        "deep": (-32003, "http_200"),
    }
    assert "https://new.example.com/mcp" in seen["moved"]["error"]["message"]
    assert seen["protocol"]["error"] == {"code": -32020, "message": "Header mismatch"}
    assert seen["pretty"]["result"] == {"a": "b\n"}


def test_lines_that_are_no_requests() -> None:
    with http_server(no_content) as url, relay(url) as client:
        assert client.ask(b"{")["error"]["code"] == -32700
        assert client.ask(b"\xff")["error"]["code"] == -32700
        assert client.ask(b"[" * 100_000)["error"]["code"] == -32700
        assert client.ask([request("ping")])["error"]["code"] == -32600
        assert client.ask({"jsonrpc": "2.0", "id": 5})["id"] == 5
        client.send(b"", b"  ", {"jsonrpc": "2.0", "id": 1, "result": {}})
        assert client.ask(b"null")["error"]["code"] == -32600
        assert client.close() == ([], "")


def test_the_longest_line() -> None:
    limit = 1_048_576

    def line(length: int) -> bytes:
        begin, end = b'{"method":"tools/call","params":{"a":"', b'"},"jsonrpc":"2.0","id":7}'
        return begin + b"x" * (length - len(begin) - len(end)) + end

    def respond(asked: Request) -> None:
        asked.answer({"length": len(asked.raw)})

    with http_server(respond) as url, relay(url) as client:
        assert client.ask(line(limit))["result"] == {"length": limit}
        error = client.ask(line(limit + 1))
        assert (error["id"], error["error"]["code"]) == (7, -32600)
        assert "1,048,576 bytes" in error["error"]["message"]
        assert client.ask(line(20 * limit))["id"] is None
        assert client.ask(line(200))["result"] == {"length": 200}


def test_a_stream_of_events() -> None:
    closed: queue.Queue[bool] = queue.Queue()

    def respond(asked: Request) -> None:
        write = asked.begin_stream()
        write(b": ping\r\n\r\nevent: message\r\ndata: " + b'{"jsonrpc": "2.0", "method": "notifications/x"}\r\n\r\n')
        if asked.body["id"] == 1:
            write(b'data: {"jsonrpc": "2.0",\ndata: "id": 1, "result": {}}\n\n')
            asked.hang_up()
        else:
            closed.put(asked.wait_for_hang_up())

    with http_server(respond) as url, relay(url) as client:
        assert client.ask(modern("subscriptions/listen"))["method"] == "notifications/x"
        assert client.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert client.ask(modern("subscriptions/listen", 2))["method"] == "notifications/x"
        assert client.close() == ([], "")  # the end of stdin ends an open stream
        assert closed.get(timeout=PATIENCE)


def test_the_end_of_stdin_waits_for_answers() -> None:
    begun, end = threading.Event(), threading.Event()

    def respond(asked: Request) -> None:
        begun.set()
        end.wait(PATIENCE)
        asked.answer()

    with http_server(respond) as url, relay(url) as client:
        client.send(request("tools/list", 9))
        assert begun.wait(PATIENCE)
        assert client.process.stdin
        client.process.stdin.close()
        end.set()
        assert client.read()["id"] == 9
        assert client.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("before", ["", ANOTHER_THREAD_GETS_SIGNALS], ids=["main thread", "another thread"])
def test_ctrl_c_is_quiet(before: str) -> None:
    with http_server(lambda asked: asked.answer()) as url, relay(url, before=before) as client:
        client.ask(request("ping"))
        client.process.send_signal(signal.SIGINT)
        assert client.process.wait(PATIENCE) == 130
        assert client.process.stderr
        assert client.process.stderr.read() == b""


def test_the_address_of_the_gateway_that_runs_here(tmp_path: Path) -> None:
    with http_server(lambda asked: asked.answer({"path": asked.path})) as url:
        note_address(tmp_path, f"{url}/prefix")
        with relay(None, "--data", str(tmp_path)) as client:
            assert client.ask(request("ping"))["result"] == {"path": "/prefix/mcp"}
        with relay(f"{url}/mcp", "--data", str(tmp_path)) as client:
            assert client.ask(request("ping"))["result"] == {"path": "/mcp"}


def test_what_is_missing_is_said_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GATEPOST_KEY", raising=False)
    ran = invoke("mcp")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "Error: GATEPOST_KEY: is not set. Set it to a key with the scope 'mcp'\n"
    monkeypatch.setenv("GATEPOST_KEY", "kéy")
    assert "is not a key" in invoke("mcp").err
    monkeypatch.setenv("GATEPOST_KEY", KEY)
    for address in ("gateway.example.com", "ftp://gateway.example.com", "http://"):
        ran = invoke("mcp", "--url", address)
        assert (ran.code, ran.out) == (1, "")
        assert f"url: {address!r} is not an address like https://gateway.example.com" in ran.err
