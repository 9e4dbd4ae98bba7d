"""`gatepost mcp log|policy|stop|resume` and `gatepost draft`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import typer

from gatepost.cli import assistants
from gatepost.cli.root import load_command
from gatepost.clock import SystemClock
from gatepost.model import ids
from gatepost.model.account_log import OPERATOR
from gatepost.model.mcp_call import CallResult, McpCall
from gatepost.model.send_request import SendRequest
from gatepost.services.drafts import create_draft
from gatepost.store.account_log import list_entries
from gatepost.store.keys import get_operator
from gatepost.store.mcp.calls import CallRecord, insert_calls
from gatepost.store.pool import Database
from tests.cli.conftest import Run
from tests.for_each import for_each

PERSON = "5511999998888"


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    db = await Database.connect(url, connections=4)
    try:
        yield db
    finally:
        await db.close()


def make_key(run: Run, channel: str, scopes: str = "mcp") -> str:
    return str(run("key", "create", channel, "Aide", "--scopes", scopes, "--json").json()["id"])


def test_all_commands_are_found_without_being_imported() -> None:
    assert set(load_command("mcp").commands) == set(typer.main.get_group(assistants.group).commands)


def test_a_policy_in_sentences(run: Run, account: str, channel: str, database_url: str) -> None:
    key = make_key(run, channel)
    shown = run("mcp", "policy", key).out
    assert "mode        draft" in shown
    assert "A person approves each message.\nIt may write to people who wrote in the last 30 days.\n" in shown
    assert "Warning" not in shown
    rules = '{"link_hosts": [], "recipients": {"phones": ["5511999998888"]}, "quiet_hours": null}'
    options = ("--mode", "send", "--dry-run", "--sends-per-hour", "5", "--ends", "30d", "--rules", rules)
    changed = run("mcp", "policy", key, *options, "--json").json()
    assert (changed["mode"], changed["dry_run"], changed["sends_per_hour"]) == ("send", True, 5)
    assert (changed["link_hosts"], changed["updated_by"]) == ([], "operator")
    assert changed["recipients"] == {"anyone": False, "wrote_within_days": 30, "labels": [], "phones": [PERSON]}
    assert changed["ends_at"] is not None
    assert run("mcp", "policy", key, "--json").json() == changed
    again = run("mcp", "policy", key, "--no-dry-run").out
    assert "Dry run" not in again
    assert "No links." in again
    assert "Warning: Besides mcp, this key has read." in run("mcp", "policy", make_key(run, channel, "mcp,read")).out
    account_id = ids.parse_id("acc", account)
    assert account_id

    async def logged() -> list[tuple[str, str]]:
        async with opened(database_url) as db:
            entries = await list_entries(db, account_id, before=None, limit=100)
            return [(entry.action, entry.actor.label) for entry in entries if entry.action.startswith("mcp_")]

    assert asyncio.run(logged()) == [("mcp_policy_changed", OPERATOR.label)] * 2


@for_each(
    ("options", "code", "words"),
    [
        (("--mode", "all"), "invalid_field", "mode"),
        (("--sends-per-hour", "10001"), "invalid_field", "between 0 and 10,000"),
        (("--ends", "soon"), "invalid_field", "must be a time like"),
        (("--rules", "{"), "invalid_field", "is not JSON"),
        (("--rules", "[]"), "invalid_field", "must be a JSON object"),
        (("--rules", '{"colour": 1}'), "invalid_field", "colour"),
        (("--rules", '{"recipients": {"who": 1}}'), "invalid_field", "who"),
        (("--rules", '{"unanswered": 0}'), "invalid_field", "unanswered"),
    ],
)
def test_wrong_rules(run: Run, channel: str, options: tuple[str, ...], code: str, words: str) -> None:
    error = run("mcp", "policy", make_key(run, channel), *options, "--json").error()
    assert (error["code"], words in error["message"]) == (code, True), error


def test_a_key_for_programs_has_no_policy(run: Run, channel: str) -> None:
    for options in ((), ("--mode", "send")):
        error = run("mcp", "policy", make_key(run, channel, "send"), *options, "--json").error()
        assert error["code"] == "wrong_state"
    assert run("mcp", "policy", "key_" + "0" * 32, "--json").error()["code"] == "not_found"


def test_stop_and_resume(run: Run, account: str) -> None:
    stopped = run("mcp", "stop", account, "--json").json()
    assert (stopped["stopped_by"], stopped["url"]) == ("operator", "http://127.0.0.1:8080/mcp")
    assert run("mcp", "stop", account, "--json").json() == stopped
    assert run("mcp", "resume", account, "--json").json()["stopped_at"] is None
    assert run("mcp", "stop", "acc_" + "0" * 32, "--json").error()["code"] == "not_found"


def test_the_log(run: Run, channel: str, database_url: str) -> None:
    key, now = make_key(run, channel), SystemClock().now()
    key_id, channel_id = ids.parse_id("key", key), ids.parse_id("ch", channel)
    assert key_id
    assert channel_id
    assert "There are none yet." in run("mcp", "log", channel).out

    async def record() -> None:
        async with opened(database_url) as db, db.transaction() as conn:
            for number, tool in enumerate(("send_text", "find_contacts")):
                at = now - timedelta(minutes=number)
                call = McpCall(ids.new_id(at), key_id, at, "Helper/1", "http", tool, "{}")
                result = CallResult("refused", "recipients", "policy_refused") if not number else CallResult("done")
                await insert_calls(conn, channel_id, [CallRecord(call, result)])

    asyncio.run(record())
    calls = run("mcp", "log", channel, "--json").json()
    assert [(call["tool"], call["outcome"]) for call in calls] == [("send_text", "refused"), ("find_contacts", "done")]
    assert calls[0]["key"] == {"id": key, "name": "Aide"}
    assert run("mcp", "log", channel, "--outcome", "done", "--json").json() == calls[1:]
    assert run("mcp", "log", channel, "--tool", "send_text", "--key", key, "--json").json() == calls[:1]
    assert run("mcp", "log", channel, "--limit", "1", "--json").json() == calls[:1]
    assert "Helper/1" in run("mcp", "log", channel).out
    assert run("mcp", "log", channel, "--outcome", "maybe", "--json").error()["code"] == "invalid_field"
    assert run("mcp", "log", channel, "--key", "x", "--json").error()["code"] == "invalid_field"


def make_drafts(database_url: str, channel: str, *bodies: str) -> list[str]:
    channel_id = ids.parse_id("ch", channel)
    assert channel_id

    async def make() -> list[str]:
        async with opened(database_url) as db:
            caller = await get_operator(db, channel_id)
            assert caller
            now, apart = SystemClock().now(), timedelta(milliseconds=1)  # the order of ids of one millisecond is random
            made = [
                await create_draft(db, caller, SendRequest(PERSON, body), now + n * apart)
                for n, body in enumerate(bodies)
            ]
            return [ids.format_id("drf", draft.id) for draft in made]

    return asyncio.run(make())


def test_drafts(run: Run, channel: str, database_url: str) -> None:
    first, second = make_drafts(database_url, channel, "One", "Two")
    assert [draft["id"] for draft in run("draft", "list", channel, "--json").json()] == [second, first]
    assert "One" in run("draft", "list", channel).out
    sent = run("draft", "approve", channel, first, "--json").json()
    assert (sent["state"], sent["decided_by"]["kind"]) == ("sent", "operator")
    refused = run("draft", "refuse", channel, second, "--comment", "No", "--json").json()
    assert (refused["state"], refused["comment"]) == ("refused", "No")
    assert run("draft", "approve", channel, second, "--json").error()["code"] == "wrong_state"
    assert run("draft", "list", channel, "--json").json() == []
    assert len(run("draft", "list", channel, "--state", "all", "--json").json()) == 2
    assert [one["id"] for one in run("draft", "list", channel, "--state", "sent", "--json").json()] == [first]
    assert run("draft", "list", channel, "--state", "new", "--json").error()["code"] == "invalid_field"
    assert run("draft", "refuse", channel, "drf_" + "0" * 32, "--json").error()["code"] == "not_found"
