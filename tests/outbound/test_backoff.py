"""What the network's instructions do to a channel: which messages wait, for how long, and what is reported."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import times
from gatepost.networks.base import ErrorReaction, NetworkError, Outgoing, Receipt, SendAccepted, SendRefused
from gatepost.outbound import pace
from gatepost.outbound.backoff import SUSPECT_SECONDS, Backoff
from gatepost.outbound.send_decision import BackoffScope
from tests.outbound.stage import FAST, Stage

PHONES = [f"55119000000{i:02d}" for i in range(60)]
MINUTE, HOUR = 60.0, 3600.0
SPAM = SendRefused(
    NetworkError(131048, "Spam limit", "Too many blocks", "Write to fewer new people."), ErrorReaction.HOLD_NEW
)
LOCKED = SendRefused(NetworkError(131031, "Account locked", None), ErrorReaction.BREAK)


def taken(message: Outgoing) -> Receipt:
    return SendAccepted(f"wamid.{message.id.hex}.{message.attempt}")


# -- the rules --------------------------------------------------------------------------------------------------------


def test_new_conversations_are_held_a_quarter_of_an_hour_doubling_to_six() -> None:
    assert [pace.new_conversation_backoff(n) / MINUTE for n in range(7)] == [15, 30, 60, 120, 240, 360, 360]


def test_a_broken_number_is_held_a_minute_doubling_to_an_hour() -> None:
    assert [pace.broken_number_backoff(n) / MINUTE for n in range(9)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@given(st.integers(0, 10**9))
def test_no_hold_overflows_or_shrinks(refusals: int) -> None:
    for rule in (pace.new_conversation_backoff, pace.broken_number_backoff, pace.channel_backoff):
        assert 0 < rule(refusals) <= rule(refusals + 1) <= 21_600


def test_a_hold_that_stands_is_not_begun_again() -> None:
    backoff = Backoff()
    assert backoff.start(BackoffScope.BROKEN, "locked", 100)
    assert not backoff.start(BackoffScope.BROKEN, "another word", 159.9)
    assert backoff.wait(159.5) == 0.5
    assert backoff.reason(159.5) == ("locked", 0.5)
    assert (backoff.wait(160), backoff.reason(160)) == (0, None)
    assert not backoff.start(BackoffScope.BROKEN, "locked", 160), "no news"
    assert backoff.wait(160) == 120
    assert backoff.start(BackoffScope.BROKEN, "another word", 280), "news"


def test_holds_of_new_conversations_leave_the_others_alone() -> None:
    backoff = Backoff()
    backoff.start(BackoffScope.NEW, "spam", 0)
    assert (backoff.wait(1), backoff.reason(1)) == (0, None)
    assert (backoff.new_wait(1), backoff.new_reason(1)) == (899, ("spam", 899))
    assert (backoff.new_wait(900), backoff.new_reason(900)) == (0, None)


def test_what_left_before_the_hold_does_not_end_it() -> None:
    backoff = Backoff()
    backoff.start(BackoffScope.BROKEN, "locked", 0)
    assert not backoff.note_accepted(59.9, opened=True)
    assert backoff.broken
    assert backoff.note_accepted(60, opened=False)
    assert not backoff.in_trouble
    assert not backoff.note_accepted(61, opened=False), "told once"


def test_only_an_opened_conversation_proves_that_conversations_may_be_opened() -> None:
    backoff = Backoff()
    backoff.start(BackoffScope.NEW, "spam", 0)
    assert not backoff.note_accepted(1000, opened=False)
    assert backoff.cautious
    assert backoff.note_accepted(1000, opened=True)


def test_two_problems_end_when_both_have_ended() -> None:
    backoff = Backoff()
    backoff.start(BackoffScope.NEW, "spam", 0)
    backoff.start(BackoffScope.BROKEN, "locked", 0)
    assert not backoff.note_accepted(1000, opened=False)
    assert (backoff.broken, backoff.in_trouble) == (False, True)
    assert backoff.note_accepted(1000, opened=True)


def test_a_wait_alone_is_no_problem() -> None:
    backoff = Backoff()
    backoff.start(BackoffScope.CHANNEL, "too fast", 0)
    assert (backoff.wait(0), backoff.in_trouble) == (1, False)
    assert not backoff.note_accepted(5, opened=True)
    backoff.start(BackoffScope.CHANNEL, "too fast", 10)
    assert backoff.wait(10) == 1, "a message that was taken since forgives"


def test_a_hold_lasts_at_least_as_long_as_it_must() -> None:
    backoff = Backoff()
    backoff.start(BackoffScope.CHANNEL, "maintenance", 0, 60)
    assert (backoff.wait(59.5), backoff.wait(60)) == (0.5, 0)
    for _ in range(6):
        backoff.start(BackoffScope.CHANNEL, "too fast", 1000)
        backoff.resume()
    for refusals in range(6):
        backoff.start(BackoffScope.CHANNEL, "too fast", 1000 * (refusals + 2))
    backoff.start(BackoffScope.CHANNEL, "maintenance", 9000, 50)
    assert backoff.wait(9000) == 60, "a longer back-off stands"


def test_a_number_that_may_send_faster_goes_on_at_once() -> None:
    backoff = Backoff()
    backoff.start(BackoffScope.CHANNEL, "maintenance", 0, 60)
    backoff.start(BackoffScope.BROKEN, "locked", 0)
    backoff.resume()
    assert backoff.reason(1) == ("locked", 59), "the other trouble is not over"


def test_the_networks_own_time_is_kept_and_a_shorter_one_does_not_cut_it() -> None:
    backoff = Backoff()
    backoff.lock_new(5000, "time-lock")
    backoff.lock_new(4000, "time-lock")
    assert backoff.new_wait(0) == 5000
    assert not backoff.cautious, "it named the time: no need to feel for it"


def test_a_problem_that_an_earlier_owner_stored_ends_with_the_first_conversation() -> None:
    backoff = Backoff(limited=True)
    assert not backoff.note_accepted(0, opened=False)
    assert backoff.note_accepted(0, opened=True)
    assert not backoff.note_accepted(0, opened=True)


@given(
    st.lists(
        st.tuples(st.sampled_from([BackoffScope.CHANNEL, BackoffScope.NEW, BackoffScope.BROKEN]), st.floats(0, 40_000)),
        max_size=40,
    )
)
def test_a_hold_never_ends_sooner_than_it_was_said(steps: list[tuple[BackoffScope, float]]) -> None:
    backoff, now, until = Backoff(), 0.0, 0.0
    for kind, pause in steps:
        now += pause
        assert backoff.wait(now) == pytest.approx(max(0.0, until - now))
        backoff.start(kind, kind.name, now)
        assert backoff.new_wait(now) if kind is BackoffScope.NEW else backoff.wait(now)
        until = max(until, now + backoff.wait(now))


# -- no new conversations ---------------------------------------------------------------------------------------------


async def test_a_spam_limit_holds_new_conversations_and_replies_go_on(stage: Stage) -> None:
    barred = True
    stage.network.answer = lambda m: SPAM if barred and m.phone != PHONES[9] else taken(m)
    await stage.take_over()
    new = await stage.accept_many(PHONES[:3])
    await stage.drive(10)
    new += await stage.accept_many(PHONES[3:6])
    await stage.drive(0)
    assert len(stage.network.calls) == 3, "no more than were under way at the first no"
    assert stage.states == [(0, "limited", "Write to fewer new people.")]
    await stage.receive_text(PHONES[9])
    reply = await stage.accept(PHONES[9], "a reply")
    await stage.drive(1)
    assert (await stage.status(reply), stage.network.times[-1]) == ("SENT", 10)
    waiting = (await stage.pace())["waiting"]
    assert waiting.pop("rule") == "new_conversations"
    assert waiting == {"because": "Write to fewer new people.", "until": "2026-11-15T10:15:00.000Z"}
    assert stage.states[1:] == [], "a reply proves nothing"
    await stage.drive(15 * MINUTE, stride=10)
    assert [round(at / MINUTE) for at in stage.network.times] == [0, 0, 0, 0, 15], "then one feels for it"
    barred = False
    await stage.drive(45 * MINUTE, stride=10)
    assert [round(at / MINUTE) for at in stage.network.times[5:]] == [45] * 6
    assert [await stage.status(id_) for id_ in new] == ["SENT"] * 6
    assert [(round(at / MINUTE), state) for at, state, _ in stage.states] == [
        (0, "limited"),
        (45, "connected"),
    ]
    await stage.check_floor()


async def test_what_the_network_would_not_open_uses_nothing_of_the_tier(stage: Stage) -> None:
    stage.network.answer = lambda m: SPAM if m.phone == PHONES[0] and m.attempt == 1 else taken(m)
    await stage.take_over(msgspec.structs.replace(FAST, tier=2))
    await stage.accept(PHONES[0], ttl=7200)
    await stage.drive(10)
    assert (await stage.pace())["tier"]["used"] == 0
    assert [row["opened_at"] for row in await stage.rows("conversations")] == [None]
    await stage.take_over(msgspec.structs.replace(FAST, tier=2), limited=True)
    await stage.accept_many(PHONES[1:3], ttl=7200)
    await stage.drive(10)
    assert len(stage.network.calls) == 3, "of a tier of two, the refused one used nothing"
    assert (await stage.pace())["waiting"]["rule"] == "tier"
    assert [state for _, state, _ in stage.states] == ["limited", "connected"]


async def test_a_final_no_to_a_new_person_uses_nothing_of_the_tier(stage: Stage) -> None:
    no = SendRefused(NetworkError(131026, "Not on the network", None), ErrorReaction.FINAL)
    stage.network.answer = lambda m: no if m.phone in PHONES[:5] else taken(m)
    await stage.take_over(msgspec.structs.replace(FAST, tier=2))
    for phone in PHONES[:8]:
        await stage.accept(phone)
        await stage.drive(1)
    assert [call.message.phone for call in stage.network.calls] == PHONES[:7]
    assert (await stage.pace())["tier"] | {"since": None} == {
        "limit": 2,
        "used": 2,
        "free": 0,
        "free_at": "2026-11-16T10:00:05.000Z",
        "since": None,
        "waiting": 1,
    }


async def test_one_who_writes_during_the_hold_is_answered_at_once(stage: Stage) -> None:
    stage.network.answer = lambda m: SPAM if m.attempt == 1 else taken(m)
    await stage.take_over()
    id_ = await stage.accept(PHONES[0])
    await stage.drive(10)
    await stage.receive_text(PHONES[0])
    await stage.drive(1)
    assert (await stage.status(id_), stage.network.times) == ("SENT", [0, 10.5])


async def test_a_reply_that_is_refused_as_new_waits_for_the_hold_and_does_not_turn_in_circles(stage: Stage) -> None:
    await stage.take_over()
    await stage.receive_text(PHONES[0])
    stage.network.answer = lambda m: SPAM if m.attempt == 1 else taken(m)
    id_ = await stage.accept(PHONES[0])
    await stage.drive(16 * MINUTE, stride=10)
    assert (await stage.status(id_), stage.network.times) == ("SENT", [0, 900])


async def test_a_time_lock_that_the_network_names_holds_new_ones_until_then(stage: Stage) -> None:
    await stage.take_over()
    until = stage.clock.now() + pace.DAY / 24
    stage.sender.lock_new(until)
    await stage.accept_many(PHONES[:20])
    await stage.receive_text(PHONES[30])
    await stage.accept(PHONES[30], "a reply")
    await stage.drive(HOUR - 1, stride=10)
    assert stage.network.bodies == ["a reply"]
    assert "does not let this number write to new people" in (await stage.pace())["waiting"]["because"]
    await stage.drive(2)
    assert len(stage.network.calls) == 21, "then all at once"
    assert stage.network.times[1] == pytest.approx(HOUR, abs=0.6)


# -- a number in trouble ----------------------------------------------------------------------------------------------


async def test_a_broken_number_is_tried_by_one_message_after_growing_waits_and_freed_by_the_first_success(
    stage: Stage,
) -> None:
    repaired = False
    stage.network.answer = lambda m: taken(m) if repaired else LOCKED
    await stage.take_over()
    await stage.receive_text(PHONES[0])
    await stage.accept(PHONES[0], "a reply")
    await stage.drive(1)
    ids = await stage.accept_many(PHONES[1:30])
    await stage.drive(16 * MINUTE, stride=1)
    assert [round(at / MINUTE) for at in stage.network.times] == [0, 1, 3, 7, 15], "replies wait too"
    assert [state for _, state, _ in stage.states] == ["limited"], "told once"
    assert stage.states[0][2] == "Account locked"
    waiting = (await stage.pace())["waiting"]
    assert waiting["because"] == "Account locked"
    assert waiting["until"].startswith("2026-11-15T10:31:0")
    repaired = True
    await stage.drive(16 * MINUTE, stride=1)
    assert len(stage.network.calls) == 5 + 30
    assert max(stage.network.times) - stage.network.times[5] < 1, "the others follow at once"
    assert [state for _, state, _ in stage.states] == ["limited", "connected"]
    assert {await stage.status(id_) for id_ in ids} == {"SENT"}


@pytest.mark.parametrize("on_unknown", ["retry", "fail"])
async def test_an_accepted_message_is_sent_once_although_the_channels_state_cannot_be_saved(
    stage: Stage, on_unknown: str
) -> None:
    stage.network.answer = lambda m: LOCKED if m.attempt == 1 else taken(m)
    await stage.take_over()
    stage.outages = 1
    id_ = await stage.accept(PHONES[0], on_unknown=on_unknown)
    await stage.drive(1)
    stage.outages = 1
    await stage.drive(5 * MINUTE, stride=1)
    assert [call.message.attempt for call in stage.network.calls] == [1, 2]
    assert await stage.acks(id_) == ["PENDING", "SENT"]
    assert [state for _, state, _ in stage.states] == ["limited", "connected"]


async def test_many_in_flight_when_the_number_fails_report_it_once(stage: Stage) -> None:
    stage.network.answer = lambda m: LOCKED if m.phone in PHONES[:19] else taken(m)
    await stage.take_over()
    await stage.accept_many(PHONES[:20])
    await stage.drive(30)
    assert [state for _, state, _ in stage.states] == ["limited"], "the one that was taken left before"
    assert len(stage.network.calls) == 20


# -- maintenance ------------------------------------------------------------------------------------------------------

MAINTENANCE = SendRefused(NetworkError(131057, "In maintenance", None), ErrorReaction.HOLD_CHANNEL, wait=60)


async def test_the_minute_of_maintenance_is_waited_for_and_not_felt_for(stage: Stage) -> None:
    stage.network.answer = lambda m: MAINTENANCE if m.attempt == 1 and m.phone == PHONES[0] else taken(m)
    await stage.take_over()
    ids = [await stage.accept(PHONES[0])]
    await stage.drive(1)
    ids += await stage.accept_many(PHONES[1:4])
    await stage.drive(58)
    assert stage.network.times == [0]
    waiting = {"rule": "hold", "because": "In maintenance", "until": "2026-11-15T10:01:00.000Z"}
    assert (await stage.pace())["waiting"] == waiting
    await stage.drive(2)
    assert stage.network.times == [0, *[pytest.approx(60, abs=0.6)] * 4]
    assert {await stage.status(id_) for id_ in ids} == {"SENT"}


async def test_a_raised_throughput_ends_the_maintenance(stage: Stage) -> None:
    stage.network.answer = lambda m: MAINTENANCE if m.attempt == 1 else taken(m)
    before = msgspec.structs.replace(FAST, throughput=80)
    await stage.take_over(before)
    await stage.accept(PHONES[0])
    await stage.drive(10)
    stage.sender.adjust(stage.network, before)
    await stage.drive(1)
    assert stage.network.times == [0], "nothing has changed yet"
    stage.sender.adjust(stage.network, msgspec.structs.replace(FAST, throughput=1000))
    await stage.drive(1)
    assert stage.network.times == [0, pytest.approx(11, abs=0.6)]


# -- taken, and failed later ------------------------------------------------------------------------------------------


def test_a_message_that_is_taken_does_not_end_a_doubt_at_once() -> None:
    backoff = Backoff()
    assert backoff.suspect("unpaid", 0, SUSPECT_SECONDS)
    assert not backoff.note_accepted(SUSPECT_SECONDS - 0.1, opened=True), "it left before"
    assert backoff.wait(SUSPECT_SECONDS - 0.5) == 0.5
    assert not backoff.note_accepted(SUSPECT_SECONDS, opened=True)
    assert (backoff.broken, backoff.wait(SUSPECT_SECONDS)) == (True, 30), "the next one waits for what becomes of it"
    assert backoff.note_accepted(SUSPECT_SECONDS + 30, opened=False)
    assert not backoff.in_trouble


def test_a_failure_of_the_one_that_tried_renews_the_doubt_silently() -> None:
    backoff = Backoff()
    backoff.suspect("unpaid", 0, SUSPECT_SECONDS)
    backoff.note_accepted(SUSPECT_SECONDS, opened=False)
    assert not backoff.suspect("unpaid", SUSPECT_SECONDS + 5, SUSPECT_SECONDS)
    assert backoff.wait(SUSPECT_SECONDS + 5) == SUSPECT_SECONDS
    assert not backoff.note_accepted(2 * SUSPECT_SECONDS + 5, opened=False)


async def test_a_number_whose_messages_fail_later_rests_and_tries_with_one(stage: Stage) -> None:
    await stage.take_over()
    await stage.accept_many(PHONES[:3])
    await stage.drive(1)
    trouble = {"because": "The account cannot be charged.", "at": times.format_time(stage.clock.now())}
    for _ in range(3):
        await stage.sender.note_trouble(trouble)
    ids = await stage.accept_many(PHONES[3:20])
    await stage.drive(SUSPECT_SECONDS - 2, stride=10)
    assert len(stage.network.calls) == 3
    assert [state for _, state, _ in stage.states] == ["limited"]
    assert (await stage.pace())["waiting"]["because"] == "The account cannot be charged."
    await stage.drive(12, stride=1)
    assert len(stage.network.calls) == 4, "one finds out"
    await stage.sender.note_trouble({**trouble, "at": times.format_time(stage.clock.now())})
    await stage.drive(SUSPECT_SECONDS - 2, stride=10)
    assert len(stage.network.calls) == 4, "it failed like the others"
    await stage.drive(60, stride=1)
    assert {await stage.status(id_) for id_ in ids} == {"SENT"}
    assert [state for _, state, _ in stage.states] == ["limited", "connected"]


async def test_conversations_that_fail_later_hold_new_ones_and_replies_go_on(stage: Stage) -> None:
    await stage.take_over()
    await stage.receive_text(PHONES[9])
    await stage.accept_many(PHONES[:3])
    await stage.drive(1)
    trouble = {"because": "Too many reports.", "at": times.format_time(stage.clock.now())}
    await stage.sender.note_trouble(trouble, BackoffScope.NEW)
    ids = await stage.accept_many(PHONES[3:8])
    reply = await stage.accept(PHONES[9], "a reply")
    await stage.drive(SUSPECT_SECONDS - 2, stride=10)
    assert (await stage.status(reply), len(stage.network.calls)) == ("SENT", 4)
    waiting = (await stage.pace())["waiting"]
    assert (waiting["rule"], waiting["because"]) == ("new_conversations", "Too many reports.")
    await stage.drive(12, stride=1)
    assert len(stage.network.calls) == 5, "one finds out"
    await stage.sender.note_trouble({**trouble, "at": times.format_time(stage.clock.now())}, BackoffScope.NEW)
    await stage.drive(SUSPECT_SECONDS - 2, stride=10)
    assert len(stage.network.calls) == 5, "it failed like the others"
    await stage.drive(60, stride=1)
    assert {await stage.status(id_) for id_ in ids} == {"SENT"}
    assert [state for _, state, _ in stage.states] == ["limited", "connected"]


@pytest.mark.parametrize(
    ("seconds", "calls"), [(SUSPECT_SECONDS - 1, 0), (SUSPECT_SECONDS, 1), (SUSPECT_SECONDS + 1, 1)]
)
async def test_a_failure_of_long_ago_holds_nobody(stage: Stage, seconds: float, calls: int) -> None:
    await stage.take_over()
    trouble = {"because": "Unpaid.", "at": times.format_time(stage.clock.now())}
    stage.clock.advance(seconds)
    await stage.sender.note_trouble(trouble)
    await stage.sender.note_trouble(None)
    await stage.accept(PHONES[0])
    await stage.drive(0.5)
    assert len(stage.network.calls) == calls
