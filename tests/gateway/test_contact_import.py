"""Import and export of thousands of contacts: a result for every line, all or nothing, and the same data back."""

import csv
import io
from typing import Any

import msgspec
import pytest

from gatepost.model.contact import OWN_COLUMNS
from gatepost.services import contact_import, contact_records, contact_table
from tests.for_each import for_each
from tests.gateway.checks import PERSON, check_refused, written
from tests.gateway.test_contacts import CONTACTS, make, seen
from tests.running_gateway import Answer, Gateway
from tests.test_loop_watchdog import watching

TEXT = {"content-type": "text/csv"}


async def bring(gateway: Gateway, table: str | bytes) -> Answer:
    raw = table if isinstance(table, bytes) else table.encode()
    return await gateway.call("POST", f"{CONTACTS}/import", raw=raw, headers=TEXT)


def lines(answer: Answer) -> list[Any]:
    assert answer.status == 200, answer.body
    return [msgspec.json.decode(line) for line in answer.body.splitlines()]


async def listed(gateway: Gateway) -> dict[str, Any]:
    data = (await gateway.call("GET", f"{CONTACTS}?limit=100")).json()["data"]
    return {contact["phone"]: contact for contact in data}


async def test_each_line_has_its_result(gateway: Gateway) -> None:
    await make(gateway, "5511999990001", "Old")
    await make(gateway, "5511999990002", "Same")
    table = (
        "phone,name,opted_out,city\n"
        "5511999990001,New,yes,\n"
        "5511999990002,Same,,\n"
        '5511999990003,"Silva, Ana",no,"São\nPaulo"\n'
        "\n"
        "+5511,Eve,,\n"
        "5511999990004,Bob,perhaps,\n"
        "5511999990003,,,Rio\n"
        "5511999990005,a,b,c,d\n"
    )
    answer = await bring(gateway, table)
    assert answer.headers["content-type"] == "application/x-ndjson"
    *reports, progress, summary = lines(answer)
    results = [(one["line"], one["phone"], one["result"]) for one in reports]
    assert results == [
        (2, "5511999990001", "updated"),
        (3, "5511999990002", "unchanged"),
        (4, "5511999990003", "created"),
        (7, "+5511", "refused"),
        (8, "5511999990004", "refused"),
        (9, "5511999990003", "updated"),
        (10, "5511999990005", "refused"),
    ]
    assert [one["code"] for one in reports if "code" in one] == ["invalid_phone", "invalid_field", "invalid_field"]
    assert progress == {"progress": {"done": 7, "total": 7}}
    assert summary == {"summary": {"lines": 7, "created": 1, "updated": 2, "unchanged": 1, "refused": 3}}
    people = await listed(gateway)
    assert (people["5511999990001"]["name"], people["5511999990001"]["opted_out"]) == ("New", True)
    ana = people["5511999990003"]
    assert (ana["id"], ana["name"], ana["custom"]) == (reports[2]["id"], "Silva, Ana", {"city": "Rio"})
    assert [event["phone"] for event in await seen(gateway, "created")][2:] == ["5511999990003"]
    assert [event["changed"] for event in await seen(gateway, "updated")] == [["name", "opted_out"]]


async def test_the_same_table_again_changes_nothing(gateway: Gateway) -> None:
    table = "phone;name\r\n" + "".join(f"55119999{i:05d};P{i}\r\n" for i in range(1001))
    first = lines(await bring(gateway, "\ufeff" + table))
    assert [one["progress"]["done"] for one in first if "progress" in one] == [250, 500, 750, 1000, 1001]
    assert first[-1]["summary"]["created"] == 1001
    before = await written(gateway)
    assert lines(await bring(gateway, table))[-1]["summary"]["unchanged"] == 1001
    assert await written(gateway) == before


async def test_a_line_that_undoes_another_causes_no_event(gateway: Gateway) -> None:
    await make(gateway, "5511999990001", "Ana")
    table = "phone,name\n5511999990001,Bea\n5511999990001,Ana\n"
    assert lines(await bring(gateway, table))[-1]["summary"]["updated"] == 2
    assert await seen(gateway, "updated") == []


async def test_a_form_is_taken_too(gateway: Gateway) -> None:
    form = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="people.csv"\r\n\r\n'
        b"phone\tname\r\n5511999990001\tAna\r\n\r\n--x--\r\n"
    )
    headers = {"content-type": "multipart/form-data; boundary=x"}
    answer = await gateway.call("POST", f"{CONTACTS}/import", raw=form, headers=headers)
    assert lines(answer)[-1]["summary"]["created"] == 1


@for_each(
    "table",
    [
        b"",
        b"name\nAna\n",
        b"phone,name,Name\n1,2,3\n",
        b"phone,\n5511999990001,x\n",
        b"phone," + b"n" * 65 + b"\n",
        b"phone,city\n5511999990001,S\xe3o Paulo\n",
        b'phone,city\n5511999990001,"open\n',
        b"phone," + ",".join(f"c{i}" for i in range(41)).encode() + b"\n",
        b"\x00\x01\x02",
    ],
)
async def test_what_cannot_be_read_is_refused_whole(gateway: Gateway, table: bytes) -> None:
    before = await written(gateway)
    answer = await bring(gateway, b"5511\n" if table == b"" else table)
    assert answer.status == 422, answer.body
    assert answer.json()["error"]["code"] == "invalid_field"
    assert await written(gateway) == before


async def test_as_many_lines_as_there_may_be(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contact_records, "ROWS_MAX", 3)
    three = "phone\n" + "".join(f"551199999000{i}\n" for i in range(3))
    check_refused(await bring(gateway, three + "5511999990009\n"), 422, "invalid_field", "file")
    assert await listed(gateway) == {}
    assert lines(await bring(gateway, three))[-1]["summary"]["created"] == 3
    monkeypatch.setattr(contact_table, "BYTES_MAX", len(three))
    assert (await bring(gateway, three)).status == 200
    check_refused(await bring(gateway, three + "\n"), 413, "body_too_large")


@for_each(("blank", "status"), [(3, 200), (4, 422)])
async def test_blank_lines_count(gateway: Gateway, monkeypatch: pytest.MonkeyPatch, blank: int, status: int) -> None:
    monkeypatch.setattr(contact_records, "ROWS_MAX", 3)
    assert (await bring(gateway, "phone" + "\n" * (blank + 1))).status == status


@for_each(("breaks", "status"), [(1, 200), (2, 422)])
async def test_line_breaks_inside_of_cells_count(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, breaks: int, status: int
) -> None:
    monkeypatch.setattr(contact_records, "LINES_MAX", 3)
    assert (await bring(gateway, f'phone,note\n{PERSON},"a{chr(10) * breaks}b"\n')).status == status


@pytest.mark.parametrize(("length", "status"), [(40, 200), (41, 422)])
@pytest.mark.parametrize("place", ["header", "cell", "several lines"])
async def test_a_row_has_a_limit(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, place: str, length: int, status: int
) -> None:
    monkeypatch.setattr(contact_records, "RECORD_MAX", 40)
    rest = length - len("phone,\n")
    if place == "header":
        table = "phone," + "n" * rest + "\n" + PERSON
    else:
        fill = "x" * (length - len(PERSON) - 4)
        text = fill[:5] + "\n" + fill[6:] if place == "several lines" else fill
        table = f'phone,note\n5511999990001,x\n{PERSON},"{text}"\n5511999990002,y\n'
    answer = await bring(gateway, table)
    assert answer.status == status, answer.body
    assert bool(await listed(gateway)) is (status == 200)


async def test_as_many_columns_as_there_may_be(gateway: Gateway) -> None:
    every = [*OWN_COLUMNS, *(f"c{i}" for i in range(40))]
    assert (await bring(gateway, ",".join(every) + "\n")).status == 200
    check_refused(await bring(gateway, ",".join([*every, "c40"]) + "\n"), 422, "invalid_field", "file")


async def test_a_header_or_blank_lines_without_end_are_refused_at_once(gateway: Gateway) -> None:
    """They took most of a minute, in which nobody else had an answer: now nothing of them is parsed past a limit."""
    with watching(stall=0.25) as (logged, _):
        for table in ("phone" + ",a" * 40_000, "phone\n" + "\n" * 5_000_000, 'phone\n"' + "\n" * 5_000_000):
            check_refused(await bring(gateway, table), 422, "invalid_field", "file")
    stacks = [line["stack"] for line in logged if line["event"] == "event loop blocked"]
    assert not [stack for stack in stacks if "services/contact" in stack]


async def test_more_own_fields_than_a_contact_may_have(gateway: Gateway) -> None:
    names = [f"c{i}" for i in range(21)]
    full, over = ["x"] * 20 + [""], ["x"] * 21
    table = "\n".join(",".join(row) for row in (["phone", *names], [PERSON, *full], ["5511999990001", *over]))
    first, second, *_ = lines(await bring(gateway, table))
    assert (first["result"], second["result"]) == ("created", "refused")


async def test_an_export_is_safe_and_comes_back(gateway: Gateway) -> None:
    await make(gateway, "5511999990001", "=1+1", custom={"note": "@cmd", "city": "Rio"}, opted_out=True)
    await make(gateway, "5511999990002", 'Ana "A", Silva', custom={"note": "two\nlines"})
    await make(gateway, "5511999990003", "'=1", custom={"＝field;=x": "x;=1; ＝2", "city": "a\n+b"})
    exported = await gateway.call("GET", f"{CONTACTS}/export")
    assert exported.headers["content-type"] == "text/csv; charset=utf-8"
    assert exported.headers["content-disposition"] == 'attachment; filename="contacts.csv"'
    header, parts, ana, formula = csv.reader(io.StringIO(exported.body.decode(), newline=""))
    assert header[:6] == ["phone", "name", "opted_out", "city", "note", "'＝field;'=x"]
    assert parts[:6] == ["5511999990003", "''=1", "false", "a\n'+b", "", "x;'=1;' ＝2"]
    assert ana[:6] == ["5511999990002", 'Ana "A", Silva', "false", "", "two\nlines", ""]
    assert formula[:6] == ["5511999990001", "'=1+1", "true", "Rio", "'@cmd", ""]
    before = await listed(gateway)
    assert lines(await bring(gateway, exported.body))[-1]["summary"]["unchanged"] == 3
    for contact in before.values():
        await gateway.call("DELETE", f"{CONTACTS}/{contact['id']}")
    lines(await bring(gateway, exported.body))
    for phone, contact in (await listed(gateway)).items():
        assert {k: contact[k] for k in ("name", "custom", "opted_out")} == {
            k: before[phone][k] for k in ("name", "custom", "opted_out")
        }


async def test_an_old_export_does_not_undo_a_newer_opt_out(gateway: Gateway) -> None:
    made = [await make(gateway, f"551199999000{i}", opted_out=i == 3) for i in (1, 2, 3)]
    exported = (await gateway.call("GET", f"{CONTACTS}/export")).body.decode()
    await gateway.call("PATCH", f"{CONTACTS}/{made[0]['id']}", {"opted_out": True})
    table = exported.replace("true", "no")  # the third one is opted in again by a person who edits the table
    assert lines(await bring(gateway, table))[-1]["summary"] == {
        "lines": 3,
        "created": 0,
        "updated": 1,
        "unchanged": 2,
        "refused": 0,
    }
    people = await listed(gateway)
    assert {phone: one["opted_out"] for phone, one in people.items()} == {
        "5511999990001": True,
        "5511999990002": False,
        "5511999990003": False,
    }
    await bring(gateway, "phone,opted_out,updated_at\n5511999990001,no,last week\n")  # a table of somebody else
    assert not (await listed(gateway))["5511999990001"]["opted_out"]


async def test_an_export_goes_on_after_a_page_of_long_fields(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contact_import, "_PAGE_SIZE", 1)
    label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]["id"]
    for number in range(3):
        made = await make(gateway, f"551199999000{number}", "A", custom={"note": "x" * 100})
        await gateway.call("PUT", f"{CONTACTS}/{made['id']}/labels/{label}")
    for query in ("", f"&label={label}"):
        for format_ in ("csv", "ndjson"):
            answer = await gateway.call("GET", f"{CONTACTS}/export?format={format_}{query}")
            assert answer.body.count(b"551199999000") == 3, answer.body


async def test_an_export_as_lines_of_json_goes_through_all_pages(gateway: Gateway) -> None:
    lines(await bring(gateway, "phone,opted_out\n" + "".join(f"55119999{i:05d},{i % 2}\n" for i in range(1001))))
    every = await gateway.call("GET", f"{CONTACTS}/export?format=ndjson")
    assert len({one["phone"] for one in lines(every)}) == 1001
    some = await gateway.call("GET", f"{CONTACTS}/export?format=ndjson&opted_out=true")
    assert len(some.body.splitlines()) == 500
    stranger = await gateway.call("GET", f"{CONTACTS}/export?format=ndjson", key=await gateway.new_stranger())
    assert stranger.body == b""
    check_refused(await gateway.call("GET", f"{CONTACTS}/export?format=xlsx"), 422, "invalid_field", "format")
