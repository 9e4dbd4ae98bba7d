"""The export: everything that fits, as NDJSON or CSV, beside other requests, and over when the client has gone."""

import asyncio
import csv
import io
from typing import Any

import msgspec
import pytest

from gatepost.services.csv_cells import csv_lines
from gatepost.services.export import COLUMNS, PAGE
from gatepost.store.pool import Database
from tests.gateway.checks import PERSON, SEND, check_refused, until
from tests.patience import PATIENCE
from tests.running_gateway import Gateway

EXPORT = "/api/v1/messages/export"
OTHER = "5511999997777"


async def test_ndjson_has_each_message_as_it_stands(gateway: Gateway) -> None:
    sent = [await gateway.send(phone=PERSON, body=f"number {n}") for n in range(3)]
    await gateway.until_status(sent[-1], "READ")
    answer = await gateway.call("GET", EXPORT)
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert answer.headers["content-disposition"].endswith('.ndjson"')
    lines = [msgspec.json.decode(line) for line in answer.body.splitlines()]
    assert [line["key"]["id"] for line in lines] == sent[::-1]
    one = await gateway.call("GET", f"/api/v1/messages/{sent[-1]}")
    assert lines[0] == one.json()["data"]


async def rows(gateway: Gateway, query: str = "") -> list[dict[str, str]]:
    answer = await gateway.call("GET", f"{EXPORT}?format=csv{query}")
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))


async def test_csv_has_a_header_and_a_row_for_each(gateway: Gateway) -> None:
    bodies = ["=1+1", '+49 "quoted", with comma', "-2", "@here", "\tx", "\rx", "＝1", "two\nlines", "plain = fine"]
    for body in bodies:
        await gateway.send(phone=PERSON, body=body, client_ref="=cmd|x")
    found = (await rows(gateway))[::-1]
    assert [row["text"] for row in found] == ["'" + body for body in bodies[:7]] + bodies[7:]
    assert {row["client_ref"] for row in found} == {"'=cmd|x"}
    assert {(row["phone"], row["direction"], row["type"]) for row in found} == {(PERSON, "out", "text")}
    assert [msgspec.json.decode(row["content"]) for row in found] == [{"body": body} for body in bodies]


async def test_a_spreadsheet_that_is_set_to_semicolons_finds_no_formula(gateway: Gateway) -> None:
    bodies = ["x;=1", "x; ＠y", "x\n-1"]
    for body in bodies:
        await gateway.send(phone=PERSON, body=body)
    exported = (await gateway.call("GET", f"{EXPORT}?format=csv")).body.decode()
    split = [cell for row in csv.reader(io.StringIO(exported, newline=""), delimiter=";") for cell in row]
    assert not [cell for cell in split if cell.strip(' "').startswith(("=", "-", "＠"))]
    assert [msgspec.json.decode(row["content"])["body"] for row in await rows(gateway)] == bodies[::-1]


async def test_nothing_is_a_file_too(gateway: Gateway) -> None:
    assert (await gateway.call("GET", EXPORT)).body == b""
    for query in ("", f"&phone={PERSON}", "&q=nothing"):
        answer = await gateway.call("GET", f"{EXPORT}?format=csv{query}")
        assert answer.body == csv_lines([COLUMNS])


async def test_the_same_filters(gateway: Gateway) -> None:
    await gateway.send(phone=PERSON, body="one order")
    await gateway.send(phone=OTHER, body="two")
    assert [row["text"] for row in await rows(gateway, f"&phone={OTHER}")] == ["two"]
    assert [row["text"] for row in await rows(gateway, "&q=ord")] == ["one order"]
    assert await rows(gateway, "&direction=in&type=text&status=RECEIVED&from=2020-01-01&to=2021-01-01") == []


async def test_strangers_export_only_their_own(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    await gateway.send(phone=PERSON, body="mine")
    assert (await gateway.call("GET", EXPORT, key=stranger)).body == b""


async def test_questions_that_make_no_sense(gateway: Gateway) -> None:
    for query, field in (
        ("format=xlsx", "format"),
        ("format=", "format"),
        ("limit=5", "limit"),
        ("cursor=x", "cursor"),
    ):
        check_refused(await gateway.call("GET", f"{EXPORT}?{query}"), 422, "invalid_field", field)


async def fill(db: Database, channel: str, count: int) -> None:
    """A channel with many messages of today."""
    async with db.connection() as conn:
        await conn.execute(
            """INSERT INTO messages (channel_id, id, contact_id, incoming, bulk, state, phone, type, content,
                                     created_at, event_ids)
               SELECT $1, (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') || '7000a000'
                           || lpad(to_hex(i), 12, '0'))::uuid, gen_random_uuid(), true, false, 10, $2, 'text',
                      '{"body":"' || repeat('long ', 200) || i || '"}', now(), '{}' FROM generate_series(1, $3) i""",
            channel.removeprefix("ch_"),
            PERSON,
            count,
        )


@pytest.mark.parametrize("count", [PAGE, PAGE + 1, 3 * PAGE])
async def test_every_page_once(gateway: Gateway, count: int) -> None:
    await fill(gateway.db, gateway.channel, count)
    numbers = [int(row["text"].split()[-1]) for row in await rows(gateway)]
    assert numbers == list(range(count, 0, -1))


async def test_others_are_served_meanwhile_and_a_client_may_leave(gateway: Gateway) -> None:
    """A reader that takes nothing holds nothing: no connection to the database, and no memory but a page's."""
    await fill(gateway.db, gateway.channel, 20_000)
    readers = [await _begin(gateway) for _ in range(gateway.settings.database.connections + 1)]
    try:
        for reader, _ in readers:
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        async with asyncio.timeout(PATIENCE):
            assert (await gateway.call("POST", SEND, {"phone": PERSON, "body": "meanwhile"})).status == 200
        assert _under_way(_REQUEST) >= len(readers)
    finally:
        for _, writer in readers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for _, writer in readers), return_exceptions=True)

    async def over() -> bool:
        return _under_way(_REQUEST, _BREAK_OFF) == 0

    await until(over)


# By the names of their tasks: a request of the server, and the driver's cancel request to the database.
_REQUEST, _BREAK_OFF = "RequestResponseCycle.run_asgi", "Connection._cancel"


def _under_way(*names: str) -> int:
    coroutines = [task.get_coro() for task in asyncio.all_tasks()]
    return sum(getattr(one, "__qualname__", "") in names for one in coroutines)


async def _begin(gateway: Gateway) -> tuple[asyncio.StreamReader, Any]:
    """Asks for a file over a connection of its own, and reads none of it."""
    host, port = gateway.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
    head = f"GET {EXPORT} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {gateway.key}\r\n\r\n"
    writer.write(head.encode())
    return reader, writer
