"""The policy: each rule at its limit, one below and one above, and the order of the rules."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.model.errors import Invalid
from gatepost.model.mcp_policy import Policy, QuietHours, Recipients, check_policy, sentences
from gatepost.model.mcp_verdict import (
    RULES,
    PolicyRefused,
    ProposedSend,
    SendFacts,
    check_verdict,
    judge,
    judge_call,
    judge_change,
    judge_file,
    quiet_until,
)
from tests.for_each import for_each

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
PHONE, LABEL = "5511999998888", "lb_" + "1" * 32
ANYONE = Recipients(anyone=True)
NIGHT = QuietHours("22:00", "07:00", "America/Sao_Paulo")  # three hours behind UTC
LUNCH = QuietHours("12:00", "13:00", "UTC")
DAY, HOUR, MINUTE, SECOND = (timedelta(**{unit: 1}) for unit in ("days", "hours", "minutes", "seconds"))


def ago(*minutes: float) -> tuple[datetime, ...]:
    return tuple(NOW - minute * MINUTE for minute in minutes)


def decide(policy: dict[str, Any], request: dict[str, Any], facts: dict[str, Any]) -> str:
    """Return `send`, or the outcome with its rule. What is not given allows everything."""
    lenient = Policy(mode="send", recipients=ANYONE)
    verdict = judge(
        msgspec.structs.replace(lenient, **policy),
        ProposedSend(**{"phone": PHONE, "type": "text", "content": '{"body":"Hello"}'} | request),
        SendFacts(**{"now": NOW} | facts),
    )
    return verdict.outcome if verdict.rule is None else f"{verdict.outcome} {verdict.rule}"


def wrote(**policy: Any) -> dict[str, Any]:
    return {"recipients": Recipients(**policy)}


def body(text: str) -> dict[str, Any]:
    return {"content": msgspec.json.encode({"body": text}).decode()}


ROWS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    ({}, {}, {}, "send"),
    ({}, {}, {"stopped": True}, "refuse stopped"),
    ({"ends_at": NOW}, {}, {}, "refuse ends_at"),
    ({"ends_at": NOW - SECOND}, {}, {}, "refuse ends_at"),
    ({"ends_at": NOW + SECOND}, {}, {}, "send"),
    ({"mode": "read"}, {}, {}, "refuse mode"),
    ({"mode": "draft"}, {}, {}, "draft mode"),
    ({}, {"draft": True}, {}, "draft"),
    ({"mode": "read"}, {"draft": True}, {}, "refuse mode"),
    ({}, {}, {"handed_over": True}, "refuse hand_over"),
    # recipients
    (wrote(wrote_within_days=30), {}, {"last_in_at": NOW - 30 * DAY + SECOND}, "send"),
    (wrote(wrote_within_days=30), {}, {"last_in_at": NOW - 30 * DAY}, "refuse recipients"),
    (wrote(wrote_within_days=30), {}, {"last_in_at": NOW - 30 * DAY - SECOND}, "refuse recipients"),
    (wrote(wrote_within_days=30), {}, {}, "refuse recipients"),
    (wrote(wrote_within_days=None), {}, {"last_in_at": NOW}, "refuse recipients"),
    (wrote(labels=(LABEL,)), {}, {"labels": frozenset({LABEL})}, "send"),
    (wrote(labels=(LABEL,)), {}, {"labels": frozenset({"lb_" + "2" * 32})}, "refuse recipients"),
    (wrote(phones=(PHONE,)), {}, {}, "send"),
    (wrote(phones=("551199998888",)), {}, {}, "send"),  # the other form of the same number
    (wrote(phones=("5511999998887",)), {}, {}, "refuse recipients"),
    # content
    ({"types": ("text",)}, {}, {}, "send"),
    ({"types": ("image",)}, {}, {}, "refuse types"),
    ({"types": ()}, {}, {}, "refuse types"),
    ({"templates": ("hello",)}, {"type": "template", "template": "hello"}, {}, "send"),
    ({"templates": ("hello",)}, {"type": "template", "template": "hell"}, {}, "refuse templates"),
    ({"templates": ()}, {"type": "template", "template": "hello"}, {}, "refuse templates"),
    ({"templates": ()}, {}, {}, "send"),
    ({"link_hosts": ()}, body("No link"), {}, "send"),
    ({"link_hosts": ()}, body("https://shop.com"), {}, "refuse link_hosts"),
    ({"link_hosts": ("shop.com",)}, body("https://www.shop.com/a"), {}, "send"),
    ({"link_hosts": ("shop.com",)}, body("https://shop.com@evil.com"), {}, "refuse link_hosts"),
    ({"link_hosts": ("shop.com",)}, {"content": '{"caption":"x","filename":"evil.com"}'}, {}, "refuse link_hosts"),
    ({"link_hosts": ()}, {"content": '{"media":{"link":"https://evil.com/a"}}'}, {}, "refuse link_hosts"),
    ({"link_hosts": ()}, {"content": '{"template":{"variables":{"1":"evil.com"}}}'}, {}, "refuse link_hosts"),
    ({"link_hosts": None}, body("https://evil.com"), {}, "send"),
    # limits
    ({"sends_per_hour": 3}, {}, {"sent": ago(1, 2)}, "send"),
    ({"sends_per_hour": 3}, {}, {"sent": ago(1, 2, 3)}, "refuse sends_per_hour"),
    ({"sends_per_hour": 3}, {}, {"sent": ago(1, 2, 3, 4)}, "refuse sends_per_hour"),
    ({"sends_per_hour": 0}, {}, {}, "refuse sends_per_hour"),
    ({"sends_per_conversation": 2}, {}, {"sent_to_person": ago(1)}, "send"),
    ({"sends_per_conversation": 2}, {}, {"sent_to_person": ago(1, 2)}, "refuse sends_per_conversation"),
    ({"sends_per_conversation": 2}, {}, {"sent_to_person": ago(1, 2, 3)}, "refuse sends_per_conversation"),
    ({"sends_per_conversation": 0}, {}, {}, "refuse sends_per_conversation"),
    ({"unanswered": 3}, {}, {"unanswered": 2}, "send"),
    ({"unanswered": 3}, {}, {"unanswered": 3}, "refuse unanswered"),
    ({"unanswered": 3}, {}, {"unanswered": 4}, "refuse unanswered"),
    # quiet hours: 07:00 in São Paulo is 10:00 UTC
    ({"quiet_hours": NIGHT}, {}, {}, "send"),
    ({"quiet_hours": NIGHT}, {}, {"now": NOW - SECOND}, "refuse quiet_hours"),
    ({"quiet_hours": NIGHT}, {}, {"now": NOW - 9 * HOUR}, "refuse quiet_hours"),
    ({"quiet_hours": NIGHT}, {}, {"now": NOW - 9 * HOUR - SECOND}, "send"),
    ({"quiet_hours": NIGHT}, {"leaves_at": NOW + 20 * HOUR}, {}, "refuse quiet_hours"),
    ({"quiet_hours": LUNCH}, {}, {"now": NOW + 2 * HOUR}, "refuse quiet_hours"),
    ({"quiet_hours": LUNCH}, {}, {"now": NOW + 2 * HOUR - SECOND}, "send"),
    ({"quiet_hours": LUNCH}, {}, {"now": NOW + 3 * HOUR}, "send"),
    # crossing
    ({}, {}, {"read_others": True}, "draft no_crossing"),
    ({"no_crossing": False}, {}, {"read_others": True}, "send"),
    ({"mode": "draft"}, {}, {"read_others": True}, "draft mode"),
]
# Everything is wrong at once; each row takes the first away.
WRONG_POLICY: dict[str, Any] = {
    "ends_at": NOW,
    "mode": "read",
    "recipients": Recipients(wrote_within_days=None),
    "types": (),
    "templates": (),
    "link_hosts": (),
    "sends_per_hour": 0,
    "sends_per_conversation": 0,
    "unanswered": 1,
    "quiet_hours": QuietHours("09:00", "11:00", "UTC"),
}
WRONG_REQUEST = {"type": "template", "template": "x", **body("evil.com")}
WRONG_FACTS = {"stopped": True, "handed_over": True, "unanswered": 1, "read_others": True}


@for_each(("policy", "request_", "facts", "verdict"), ROWS)
def test_rules(policy: dict[str, Any], request_: dict[str, Any], facts: dict[str, Any], verdict: str) -> None:
    assert decide(policy, request_, facts) == verdict


def test_the_first_rule_that_applies_is_named() -> None:
    policy, facts, found = dict(WRONG_POLICY), dict(WRONG_FACTS), []
    while (verdict := decide(policy, WRONG_REQUEST, facts)) not in found:
        found.append(verdict)
        rule = verdict.split()[-1].replace("hand_over", "handed_over")
        (policy if rule in policy else facts).pop(rule, None)
        policy |= {"mode": "send"} if rule == "mode" else {}
    assert [one.split()[-1] for one in found] == [rule for rule in RULES if rule != "files"]
    assert found[-1] == "draft no_crossing"


def test_a_limit_names_the_time_when_it_works_again() -> None:
    policy = Policy(mode="send", recipients=ANYONE, sends_per_hour=2)
    verdict = judge(policy, ProposedSend(PHONE, "text"), SendFacts(NOW, sent=ago(5, 20, 30)))
    assert verdict.works_at == NOW + 40 * MINUTE  # then only one is younger than an hour
    with pytest.raises(PolicyRefused) as refused:
        check_verdict(verdict, NOW)
    assert refused.value.code == "policy_refused"
    assert (refused.value.rule, refused.value.retry_after) == ("sends_per_hour", 2400)
    assert "2026-11-15T10:40:00.000Z" in refused.value.message
    at_night = judge(
        Policy(mode="send", recipients=ANYONE, quiet_hours=NIGHT),
        ProposedSend(PHONE, "text"),
        SendFacts(NOW - 2 * HOUR),
    )
    assert at_night.works_at == NOW


def test_quiet_hours_end_by_the_clock_of_their_zone() -> None:
    berlin = QuietHours("22:00", "07:00", "Europe/Berlin")  # the clock goes back on 25 October 2026, at 01:00 UTC
    assert quiet_until(berlin, datetime(2026, 10, 24, 21, tzinfo=UTC)) == datetime(2026, 10, 25, 6, tzinfo=UTC)
    assert quiet_until(berlin, datetime(2026, 10, 25, 5, 59, tzinfo=UTC)) == datetime(2026, 10, 25, 6, tzinfo=UTC)


def test_calls_that_are_no_messages() -> None:
    reader, writer = Policy(mode="read"), Policy(mode="draft", files=True, ends_at=NOW)
    assert judge_call(reader, stopped=False, now=NOW) is None
    for judged, rule in (
        (judge_call(reader, stopped=True, now=NOW), "stopped"),
        (judge_call(writer, stopped=False, now=NOW), "ends_at"),
        (judge_change(reader, stopped=False, now=NOW), "mode"),
        (judge_change(reader, stopped=True, now=NOW), "stopped"),
        (judge_file(reader, stopped=False, now=NOW), "files"),
        (judge_file(writer, stopped=False, now=NOW), "ends_at"),
    ):
        assert judged is not None
        assert (judged.outcome, judged.rule) == ("refuse", rule)
    assert judge_change(writer, stopped=False, now=NOW - SECOND) is None
    assert judge_file(writer, stopped=False, now=NOW - SECOND) is None


def test_the_defaults_are_careful() -> None:
    policy = Policy()
    assert (policy.mode, policy.no_crossing, policy.recipients.anyone, policy.files) == ("draft", True, False, False)
    check_policy(policy)
    assert sentences(policy) == [
        "A person approves each message.",
        "It may write to people who wrote in the last 30 days.",
        "For an hour after it has read one conversation, it writes no note in another one.",
        "At most 30 messages an hour, 10 of them in one conversation, and 3 in a row without an answer.",
        "It cannot open files.",
    ]


def test_all_invalid_fields_are_named() -> None:
    bad = Policy(
        sends_per_hour=10_001,
        sends_per_conversation=-1,
        unanswered=0,
        recipients=Recipients(wrote_within_days=366, labels=("x",), phones=("+49",)),
        quiet_hours=QuietHours("24:00", "7:00", "Mars/Base"),
        types=("smoke",),
        templates=("",),
        link_hosts=("https://example.com",),
        ends_at=datetime(2026, 11, 15),
    )
    with pytest.raises(Invalid) as error:
        check_policy(bad)
    assert {problem.field for problem in error.value.fields} == {
        "sends_per_hour",
        "sends_per_conversation",
        "unanswered",
        "recipients.wrote_within_days",
        "recipients.labels[0]",
        "recipients.phones[0]",
        "quiet_hours.start",
        "quiet_hours.end",
        "quiet_hours.tz",
        "types[0]",
        "templates[0]",
        "link_hosts[0]",
        "ends_at",
    }


@for_each(
    "policy",
    [
        {"sends_per_hour": 0},
        {"sends_per_hour": 10_000},
        {"unanswered": 1},
        {"unanswered": 100},
        {"recipients": Recipients(wrote_within_days=1)},
        {"recipients": Recipients(wrote_within_days=365)},
        {"recipients": Recipients(labels=(LABEL,) * 20, phones=(PHONE,) * 1000)},
        {"quiet_hours": QuietHours("00:00", "23:59", "UTC")},
        {"types": ("text", "template")},
        {"link_hosts": ("example.com", "münchen.de", "10.0.0.1")},
        {"ends_at": NOW},
    ],
)
def test_what_is_valid(policy: dict[str, Any]) -> None:
    check_policy(Policy(**policy))


@for_each(
    "policy",
    [
        {"recipients": Recipients(labels=(LABEL,) * 21)},
        {"recipients": Recipients(phones=(PHONE,) * 1001)},
        {"recipients": Recipients(wrote_within_days=0)},
        {"quiet_hours": QuietHours("10:00", "10:00", "UTC")},
        {"unanswered": 101},
    ],
)
def test_what_is_too_much(policy: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        check_policy(Policy(**policy))


def test_sentences_name_every_rule() -> None:
    policy = Policy(
        mode="send",
        dry_run=True,
        recipients=Recipients(wrote_within_days=1, labels=(LABEL,), phones=(PHONE, "491701234567")),
        quiet_hours=NIGHT,
        types=("text", "template"),
        templates=(),
        link_hosts=("shop.com",),
        files=True,
        ends_at=NOW,
    )
    assert sentences(policy, {UUID("1" * 32): "VIP"}) == [
        "The assistant may send messages.",
        "It may write to people who wrote in the last day, people with the label “VIP” or 2 listed numbers.",
        "For an hour after it has read one conversation, what it writes to anybody else needs approval, "
        "and it writes no note in another one.",
        "At most 30 messages an hour, 10 of them in one conversation, and 3 in a row without an answer.",
        "Nothing between 22:00 and 07:00 (America/Sao_Paulo).",
        "Only messages of type text or template.",
        "No templates.",
        "Only links to shop.com.",
        "It may open files.",
        "It stops at 2026-11-15T10:00:00.000Z.",
        "Dry run: nothing is sent and no draft is made; the log shows what would have happened.",
    ]
    assert sentences(Policy(mode="read"))[0] == "The assistant may read. It sends nothing and changes nothing."
    assert not any("note" in said for said in sentences(Policy(no_crossing=False)))
    assert "It may write to nobody." in sentences(Policy(recipients=Recipients(wrote_within_days=None)))
