"""Throughput, the pair limit and the 24-hour window, at their edges."""

from hypothesis import given
from hypothesis import strategies as st

from gatepost_sandbox.limits import Burst, Pace, RecentMarketing, next_burst
from gatepost_sandbox.settings import Limits

from .driver import NUMBER, Driver, Receiver


async def test_throughput_is_80_in_any_second(sandbox: Driver) -> None:
    statuses = [(await sandbox.text(str(5511900000000 + index))).status for index in range(81)]
    assert statuses == [200] * 80 + [429]
    refused = await sandbox.text("5511999990000")
    assert (refused.status, refused.code) == (429, 130429)
    assert refused.json["error"]["message"] == "(#130429) Rate limit hit"
    await sandbox.advance(0.999)
    assert (await sandbox.text("5511999990000")).code == 130429
    await sandbox.advance(0.001)
    assert (await sandbox.text("5511999990000")).status == 200


async def test_incoming_messages_use_throughput_too(sandbox: Driver) -> None:
    await sandbox.control("PATCH", f"numbers/{NUMBER}", {"limits": {"throughput": 2}})
    await sandbox.control("POST", "say", {"phone_number_id": NUMBER, "from": "5511999990001", "text": "hi"})
    assert [(await sandbox.text(f"551199999000{index}")).status for index in range(2)] == [200, 429]


async def test_limits_can_be_switched_off_and_the_status_chosen(sandbox: Driver) -> None:
    await sandbox.control("PATCH", "settings", {"throttle_status": 400})
    for _ in range(45):
        assert (await sandbox.text()).status == 200
    refused = await sandbox.text()
    assert (refused.status, refused.code) == (400, 131056)
    await sandbox.control("PATCH", f"numbers/{NUMBER}", {"limits": {"throughput": None, "pair_interval": None}})
    for _ in range(100):
        assert (await sandbox.text()).status == 200


async def test_the_pair_limit_lends_a_burst_and_wants_it_back(sandbox: Driver) -> None:
    for _ in range(20):
        assert (await sandbox.text()).status == 200
    await sandbox.advance(6)
    assert (await sandbox.text()).code == 131056
    assert (await sandbox.text("5511999991111")).status == 200
    await sandbox.advance(113.9)
    assert (await sandbox.text()).code == 131056
    await sandbox.advance(0.1)
    assert (await sandbox.text()).status == 200


async def test_a_burst_ends_at_45(sandbox: Driver) -> None:
    codes = [(await sandbox.text()).status for _ in range(46)]
    assert codes == [200] * 45 + [429]


async def test_one_message_per_six_seconds_goes_on_for_ever(sandbox: Driver) -> None:
    for _ in range(20):
        assert (await sandbox.text()).status == 200
        await sandbox.advance(6)


@given(st.lists(st.floats(0, 30), max_size=300), st.integers(1, 45))
def test_the_pair_limit_never_gives_more_than_its_rate(gaps: list[float], limit: int) -> None:
    now, burst, taken, first = 0.0, None, 0, None
    for gap in gaps:
        now += gap
        after = next_burst(burst, now, 6.0, limit)
        if after is None:
            continue
        burst, taken, first = after, taken + 1, now if first is None else first
        # Everything before the present burst has been paid for in time.
        assert (taken - burst.size) * 6.0 <= burst.start - first + 1e-6
        assert burst.size <= limit


def test_the_edges_of_a_burst() -> None:
    assert next_burst(None, 5.0, 6.0, 45) == Burst(5.0, 1)
    assert next_burst(Burst(0.0, 1), 5.99, 6.0, 45) == Burst(0.0, 2)
    assert next_burst(Burst(0.0, 2), 6.0, 6.0, 45) is None
    assert next_burst(Burst(0.0, 2), 12.0, 6.0, 45) == Burst(12.0, 1)
    assert next_burst(Burst(0.0, 45), 5.0, 6.0, 45) is None


def test_a_message_refused_by_the_pair_limit_uses_no_throughput() -> None:
    pace, limits = Pace(), Limits(throughput=2, pair_burst=1)
    assert pace.take("1", 0.0, limits) is None
    assert pace.take("1", 0.1, limits) == 131056
    assert pace.take("2", 0.2, limits) is None
    assert pace.take("3", 0.3, limits) == 130429


async def test_outside_the_window_text_is_accepted_and_then_fails(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"limits": {"window": True}})
    assert (await sandbox.text(biz_opaque_callback_data="x")).status == 200
    await sandbox.advance(10)
    [failed] = receiver.updates()
    assert (failed["status"], failed["biz_opaque_callback_data"]) == ("failed", "x")
    [error] = failed["errors"]
    assert (error["code"], error["title"], error["message"]) == (131047, *["Re-engagement message"] * 2)
    assert error["error_data"]["details"]
    assert error["href"].startswith("https://")
    assert "pricing" not in failed


async def test_the_window_is_open_for_24_hours_after_a_message(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"limits": {"window": True}})
    await sandbox.control("POST", "say", {"phone_number_id": NUMBER, "from": "5511999990000", "text": "hi"})
    await sandbox.advance(24 * 3600 - 1)
    await sandbox.text()
    await sandbox.advance(1)
    await sandbox.text()
    await sandbox.advance(10)
    assert sorted(receiver.labels()) == ["delivered", "failed", "read", "sent", "text"]


def test_a_person_who_moves_keeps_the_marketing_messages_of_the_new_number() -> None:
    recent, day = RecentMarketing(), 24 * 3600.0
    assert recent.take("new", 2.0, 2)
    assert recent.take("old", 1.0, 2)
    recent.move_person("old", "new")
    assert not recent.take("new", day, 2)
    assert recent.take("new", 1.5 + day, 2)
    assert not recent.take("new", 1.5 + day, 2)
