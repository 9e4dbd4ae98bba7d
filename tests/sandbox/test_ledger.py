"""What is written down, how it is found, and that it stays bounded."""

from hypothesis import given
from hypothesis import strategies as st

from gatepost_sandbox.ledger import Ledger
from gatepost_sandbox.watch import Watch

from .driver import NUMBER, START, Driver


async def test_an_accepted_send_in_full(sandbox: Driver) -> None:
    reply = await sandbox.text(
        "+5511999990000", "hi", biz_opaque_callback_data="m:1", context={"message_id": "wamid.q"}
    )
    [entry] = await sandbox.ledger(kind="accepted")
    assert entry == {
        "seq": 1,
        "kind": "accepted",
        "at": START,
        "phone_number_id": NUMBER,
        "to": "5511999990000",
        "type": "text",
        "content": {"body": "hi"},
        "wamid": reply.wamid,
        "biz_opaque_callback_data": "m:1",
        "context": "wamid.q",
        "request_id": reply.trace_id,
    }


async def test_kinds_share_one_numbering_and_can_be_paged(sandbox: Driver) -> None:
    await sandbox.text("5511999990000")
    await sandbox.post({})
    await sandbox.control("POST", "say", {"phone_number_id": NUMBER, "from": "5511999990000", "text": "x"})
    await sandbox.advance(10)
    everything = await sandbox.ledger()
    assert [entry["seq"] for entry in everything] == list(range(1, 8))
    assert [entry["kind"] for entry in everything] == ["accepted", "refused", "incoming", *["callback"] * 4]
    page = await sandbox.control("GET", "ledger?limit=2&after=1")
    assert [entry["seq"] for entry in page["entries"]] == [2, 3]
    assert page["next"] == 3
    assert (await sandbox.control("GET", "ledger?limit=5&after=3"))["next"] is None


async def test_filters(sandbox: Driver) -> None:
    await sandbox.register(phone_number_id="2002", phone="15550002222")
    await sandbox.text("5511999990000")
    await sandbox.text("5511999991111")
    payload = {"messaging_product": "whatsapp", "to": "5511999990000", "text": {"body": "x"}}
    await sandbox.post(payload, number="2002")
    assert len(await sandbox.ledger(to="5511999990000")) == 2
    assert len(await sandbox.ledger(phone_number_id=NUMBER)) == 2
    assert len(await sandbox.ledger(phone_number_id=NUMBER, to="5511999990000", kind="accepted")) == 1
    assert (await sandbox.call("GET", "/control/ledger?kind=gossip")).status == 400
    assert (await sandbox.call("GET", "/control/ledger?limit=0")).status == 400
    summary = await sandbox.control("GET", "ledger/summary")
    assert summary["numbers"] == {NUMBER: {"accepted": 2}, "2002": {"accepted": 1}}
    assert summary["total"] == {"accepted": 3}


async def test_refusals_of_unknown_numbers_are_counted_together(sandbox: Driver) -> None:
    await sandbox.post({}, number="404")
    await sandbox.post({}, number="405")
    summary = await sandbox.control("GET", "ledger/summary")
    assert summary["numbers"] == {"unknown": {"refused": 2, "refused.100": 2}}
    assert [entry["phone_number_id"] for entry in await sandbox.ledger(kind="refused")] == ["404", "405"]


@given(cap=st.integers(1, 40), rows=st.integers(0, 200))
def test_the_oldest_rows_fall_off(cap: int, rows: int) -> None:
    ledger = Ledger(cap, cap, Watch())
    for index in range(rows):
        ledger.put("read", (0.0, "1", None, f"wamid.{index}", False, "r"))
    kept = [row["seq"] for row in ledger.read("read", None, None, 0, 1000)]
    assert kept == list(range(rows + 1))[-len(kept) :] if kept else rows == 0
    assert min(cap, rows) <= len(kept) <= cap + max(cap // 8, 1)


async def test_it_can_be_read_on_from_a_cursor(sandbox: Driver) -> None:
    """From the summary's last number on; a last number that fell means a reset."""
    await sandbox.text()
    last = (await sandbox.control("GET", "ledger/summary"))["last_seq"]
    assert last == (await sandbox.ledger())[-1]["seq"]
    assert await sandbox.ledger(after=last) == []
    await sandbox.text(body="more")
    assert [row["content"]["body"] for row in await sandbox.ledger(after=last)] == ["more"]
    await sandbox.control("POST", "reset", {})
    assert (await sandbox.control("GET", "ledger/summary"))["last_seq"] == 0
