"""Requests that are wrong: as JSON-RPC, as MCP, and as a call of a tool."""

import asyncio
from typing import Any

import msgspec
import pytest
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from gatepost.mcp.plain_calls import REVISION
from gatepost.model.mcp_call import CLIENT_KEY, VERSION_KEY
from gatepost.store.mcp.calls import list_calls
from tests.for_each import for_each
from tests.mcp.assistant import ERAS, assistant, channel_of, mcp_key, write
from tests.mcp.wire import ACCEPT, ENVELOPE, check_rejected, post, rpc
from tests.running_gateway import Gateway

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, MISMATCH = -32700, -32600, -32601, -32602, -32020
CALL = rpc("tools/call", name="list_labels", arguments={})
LEGACY = ACCEPT | {"mcp-protocol-version": "2025-06-18"}
ID = "0" * 32


def with_params(**params: Any) -> dict[str, Any]:
    """Return a call with other parameters."""
    return CALL | {"params": CALL["params"] | params}


def legacy(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def test_malformed_json_rpc(gateway: Gateway) -> None:
    key = await mcp_key(gateway)
    modern = ACCEPT | {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    for headers in (modern, LEGACY, ACCEPT):
        for raw in (b"", b"{", b"[]", b"null", b"5", b'{"jsonrpc": "1.0"}', b'{"id": 1}', b"\xff", b"[" * 15_000):
            answer = await post(gateway, key, raw=raw, headers=headers)
            assert answer.status == 400, (headers, raw[:20], answer.status, answer.body[:200])
            assert answer.json()["error"]["code"] in (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS), raw[:20]


async def test_too_many_values(gateway: Gateway) -> None:
    key = await mcp_key(gateway)
    for raw in (b"[" * 20_001, b'{"a":[' + b"0," * 20_000 + b"0]}"):
        check_rejected(await post(gateway, key, raw=raw), 400, "malformed_json")


async def test_another_content_type(gateway: Gateway) -> None:
    answer = await post(gateway, await mcp_key(gateway), headers={"content-type": "text/plain"})
    check_rejected(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize("method", ["tools/fly", "subscriptions/listen", "resources/subscribe", "logging/setLevel"])
async def test_an_unknown_method(gateway: Gateway, method: str) -> None:
    key = await mcp_key(gateway)
    for body, headers in ((rpc(method), {}), (legacy(method, uri="x", level="info"), LEGACY)):
        error = (await post(gateway, key, body, headers)).json()["error"]
        assert error["code"] in (METHOD_NOT_FOUND, INVALID_PARAMS), (headers, error)


async def test_an_unknown_tool_prompt_or_resource(gateway: Gateway) -> None:
    key = await mcp_key(gateway)
    unknown: dict[str, dict[str, Any]] = {
        "tools/call": {"name": "delete_everything", "arguments": {}},
        "prompts/get": {"name": "nonsense"},
    }
    for method, params in unknown.items():
        for body, headers in ((rpc(method, **params), {}), (legacy(method, **params), LEGACY)):
            error = (await post(gateway, key, body, headers)).json()["error"]
            assert error["code"] == INVALID_PARAMS
            assert params["name"] in error["message"]
    for uri in (f"gatepost://conversations/cv_{ID}", "gatepost://keys/1", "file:///etc/passwd", "gatepost://"):
        body = rpc("resources/read", uri=uri)
        error = (await post(gateway, key, body, {"mcp-name": uri})).json()["error"]
        assert (error["code"], error["data"]["uri"]) == (INVALID_PARAMS, uri)


async def test_header_and_body_differ(gateway: Gateway) -> None:
    key = await mcp_key(gateway)
    for headers in (
        {"mcp-method": "tools/call"},
        {"mcp-protocol-version": "2026-07-28", "mcp-method": ""},
    ):
        answer = await post(gateway, key, rpc("tools/list"), headers)
        assert answer.status == 400, (headers, answer.body)
    call = rpc("tools/call", name="list_labels", arguments={})
    answer = await post(gateway, key, call, {"mcp-name": "send_text"})
    assert answer.status == 400, answer.body


async def test_a_plain_call_is_answered_as_the_sdk_does_it(gateway: Gateway) -> None:
    assert MODERN_PROTOCOL_VERSIONS == (REVISION,)
    key = await mcp_key(gateway)
    for name, more in (
        ("list_labels", {"arguments": {}}),
        ("list_labels", {}),
        ("find_orders", {"arguments": None}),
        ("read_conversation", {"arguments": {"conversation": f"cv_{ID}"}}),
        ("read_conversation", {"arguments": {"nonsense": 1}}),
    ):
        plain = await post(gateway, key, rpc("tools/call", name=name, **more))
        checked = await post(gateway, key, rpc("tools/call", name=name, **more, other=1))  # which the SDK handles
        assert plain.json() == checked.json(), name
        assert plain.headers.keys() == checked.headers.keys()
        assert plain.json()["result"]["resultType"] == "complete"
    calls = await list_calls(gateway.db, channel_of(gateway), before=None, limit=100)
    assert {(call.client, call.transport) for call in calls} == {("tests 1", "http")}


@for_each(
    ("body", "headers", "status", "code"),
    [
        # Not plain, and right.
        (CALL | {"id": "x"}, {}, 200, None),
        (CALL, {"mcp-name": "=?base64?bGlzdF9sYWJlbHM=?="}, 200, None),
        (CALL, {"mcp-param-other": "x"}, 200, None),
        (CALL, {"accept": "text/html, application/*;q=0.5"}, 200, None),
        # Wrong.
        (CALL | {"id": None}, {}, 400, INVALID_REQUEST),
        (CALL | {"jsonrpc": "1.0"}, {}, 400, INVALID_REQUEST),
        (CALL, {"accept": "text/html"}, 406, None),
        (CALL, {"mcp-name": "get_channel"}, 400, MISMATCH),
        (CALL, {"mcp-method": "tools/list"}, 400, MISMATCH),
        (with_params(name=5), {"mcp-name": "list_labels"}, 400, None),
        (with_params(arguments=[]), {}, 400, INVALID_PARAMS),
        (with_params(arguments="x"), {}, 400, INVALID_PARAMS),
        (with_params(_meta=None), {}, 400, INVALID_PARAMS),
        (with_params(_meta=ENVELOPE | {CLIENT_KEY: {"name": 5}}), {}, 400, INVALID_PARAMS),
        (with_params(_meta={VERSION_KEY: REVISION, CLIENT_KEY: ENVELOPE[CLIENT_KEY]}), {}, 400, INVALID_PARAMS),
    ],
)
async def test_what_is_not_a_plain_call_is_left_to_the_sdk(
    gateway: Gateway, body: Any, headers: dict[str, str], status: int, code: int | None
) -> None:
    answer = await post(gateway, await mcp_key(gateway), body, headers)
    assert answer.status == status, answer.body
    if code is not None:
        assert answer.json()["error"]["code"] == code
    if status == 200:
        assert answer.json()["result"]["structuredContent"] == {"labels": []}


async def test_an_unknown_revision(gateway: Gateway) -> None:
    key = await mcp_key(gateway)
    meta = ENVELOPE | {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    answer = await post(gateway, key, body, {"mcp-protocol-version": "2099-01-01"})
    assert answer.status == 400
    assert "2026-07-28" in str(answer.json()["error"])


@pytest.mark.parametrize("era", ERAS)
async def test_wrong_arguments(gateway: Gateway, era: str) -> None:
    async with assistant(gateway, await mcp_key(gateway), era) as mine:
        for tool, arguments, field in (
            ("find_conversations", {"nonsense": 1}, "nonsense"),
            ("find_conversations", {"limit": 0}, "limit"),
            ("find_conversations", {"limit": 51}, "limit"),
            ("find_conversations", {"limit": "5"}, "limit"),
            ("find_conversations", {"status": "archived"}, "status"),
            ("find_conversations", {"since": "yesterday"}, "since"),
            ("find_conversations", {"query": "\x00"}, "query"),
            ("list_templates", {"query": "\x00"}, "query"),
            ("list_templates", {"status": "\x00"}, "status"),
            ("find_contacts", {"query": " "}, "query"),
            ("read_conversation", {}, "conversation"),
            ("search_messages", {"query": "?!"}, "query"),
            ("search_messages", {"tz": "Mars/Base"}, "tz"),
            ("search_messages", {"direction": "up"}, "direction"),
            ("find_orders", {"status": "lost"}, "status"),
        ):
            error = await mine.fail(tool, **arguments)
            assert error["code"] == "invalid_field", (tool, arguments, error)
            assert [one["field"] for one in error["fields"]] == [field], (tool, error)
            assert "`" not in error["message"], error


async def test_ids_of_another_tenant(gateway: Gateway) -> None:
    conversation = await write(gateway, "A secret")
    sent = await gateway.send(phone="5511999998888", body="Hi")
    label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]["id"]
    stranger = await gateway.new_channel(await gateway.new_account(), "15550002222", "100000000000002")
    async with assistant(gateway, await gateway.new_key(stranger.id, scopes=("mcp",))) as other:
        for tool, arguments in (
            ("read_conversation", {"conversation": conversation}),
            ("search_messages", {"conversation": conversation}),
            ("trace_message", {"message": sent}),
            ("preview_template", {"template": f"tpl_{ID}"}),
            ("send_text", {"conversation": conversation, "text": "Hi"}),
            ("send_template", {"conversation": conversation, "template": f"tpl_{ID}"}),
            ("mark_read", {"conversation": conversation}),
            ("hand_over", {"conversation": conversation, "reason": "x"}),
            ("update_conversation", {"conversation": conversation, "status": "closed"}),
            ("set_labels", {"conversation": conversation, "add": [label]}),
        ):
            assert (await other.fail(tool, **arguments))["code"] == "not_found", tool
        assert (await other.ask("find_conversations", label=label))["conversations"] == []
        assert (await other.ask("find_conversations"))["conversations"] == []
        assert (await other.ask("list_drafts", conversation=conversation))["drafts"] == []


async def test_a_cursor_of_another_tool(gateway: Gateway) -> None:
    for phone in ("5511999998888", "5511977776666"):
        conversation = await write(gateway, "Hi", phone)
    async with assistant(gateway, await mcp_key(gateway)) as mine:
        cursor = (await mine.ask("find_conversations", limit=1))["next"]
        for tool, arguments in (
            ("find_contacts", {"cursor": cursor}),
            ("search_messages", {"cursor": cursor}),
            ("read_conversation", {"conversation": conversation, "before": cursor}),
            ("list_drafts", {"cursor": "nonsense"}),
            ("find_orders", {"cursor": "W10"}),
        ):
            assert (await mine.fail(tool, **arguments))["code"] == "invalid_cursor", tool


async def test_a_call_that_is_given_up_disturbs_nobody(gateway: Gateway) -> None:
    conversation = await write(gateway, "Hi")
    async with assistant(gateway, await mcp_key(gateway)) as mine:
        calls = [asyncio.create_task(mine.ask("read_conversation", conversation=conversation)) for _ in range(10)]
        await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert [isinstance(one, dict) for one in answers[1::2]] == [True] * 5
        assert await mine.ask("list_labels") == {"labels": []}


async def test_a_large_body_is_read_quickly_enough(gateway: Gateway) -> None:
    text = "ä" * (500 * 1024)
    body = rpc("tools/call", name="send_text", arguments={"conversation": "cv_x", "text": text})
    answer = await post(gateway, await mcp_key(gateway), body, {"mcp-name": "send_text"}, raw=msgspec.json.encode(body))
    assert answer.json()["result"]["isError"] is True


async def test_arguments_that_are_nested_deeply_are_recorded(gateway: Gateway) -> None:
    deep = b'{"x":' + b"[" * 900 + b"]" * 900 + b"}"
    body = msgspec.json.encode(with_params(arguments=msgspec.Raw(deep)))
    for more in ({}, {"mcp-session-id": "x"}):  # without the SDK, and with it
        headers = {"mcp-protocol-version": REVISION, "mcp-method": "tools/call", "mcp-name": "list_labels"}
        answer = await post(gateway, await mcp_key(gateway), raw=body, headers=headers | more)
        assert answer.json()["result"]["structuredContent"]["error"]["code"] == "invalid_field", answer.body
    assert [row.outcome for row in await list_calls(gateway.db, channel_of(gateway), before=None, limit=9)] == [
        "failed",
        "failed",
    ]
