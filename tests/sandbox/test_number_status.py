"""Tiers that fill and rise, throughput that is raised, quality, status and names, and the news of it all."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost_sandbox.conversation_tier import DAY, WEEK, OpenedConversations, next_tier, tier_name
from gatepost_sandbox.numbers import throughput_level

from .driver import NUMBER, PHONE, START, WABA, Driver, Receiver
from .incoming import ANA, changes, news, send_in

HOUR = 3600


def person(place: int) -> str:
    return str(5511900000000 + place)


async def limit(sandbox: Driver, **limits: Any) -> None:
    await sandbox.control("PATCH", f"numbers/{NUMBER}", {"limits": limits})


async def test_a_tier_is_full_when_it_is_full(sandbox: Driver) -> None:
    await limit(sandbox, tier=2)
    assert [(await sandbox.text(person(place))).status for place in range(2)] == [200, 200]
    refused = await sandbox.text(person(2))
    assert (refused.status, refused.code) == (429, 131048)
    assert (await sandbox.text(person(0))).status == 200
    await send_in(sandbox, "text", "hi")
    assert (await sandbox.text(ANA)).status == 200
    assert (await sandbox.text(person(3))).code == 131048


async def test_a_tier_is_free_again_after_24_hours(sandbox: Driver) -> None:
    await limit(sandbox, tier=1, ladder=[1])
    await sandbox.text(person(0))
    await sandbox.advance(DAY - 1)
    assert (await sandbox.text(person(1))).code == 131048
    await sandbox.advance(1)
    assert (await sandbox.text(person(1))).status == 200


async def test_the_code_of_a_full_tier_is_a_setting(sandbox: Driver) -> None:
    await limit(sandbox, tier=1, tier_code=131049)
    await sandbox.text(person(0))
    refused = await sandbox.text(person(1))
    assert (refused.status, refused.code) == (400, 131049)


async def test_a_refused_send_leaves_the_tier_alone(sandbox: Driver) -> None:
    await limit(sandbox, tier=1, throughput=1)
    await sandbox.text(person(0))
    assert (await sandbox.text(person(0))).code == 130429
    assert (await sandbox.text(person(1))).code == 131048


async def test_a_tier_half_used_rises_after_6_hours(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"default_character": "offline"})
    await limit(sandbox, tier=4, ladder=[4, 10, 0])
    await sandbox.text(person(0))
    await sandbox.advance(10 * HOUR)
    assert news(receiver) == []
    await sandbox.text(person(1))
    await sandbox.advance(6 * HOUR - 1)
    assert news(receiver) == []
    await sandbox.advance(1)
    tier = {"max_daily_conversations_per_business": "TIER_10"}
    assert news(receiver) == [
        ("phone_number_quality_update", {"display_phone_number": PHONE, "event": "UPGRADE", **tier}),
        (
            "business_capability_update",
            {"max_daily_conversations_per_business": 10, "max_phone_numbers_per_waba": 25},
        ),
    ]
    assert changes(receiver)[-1]["time"] == int(START + 16 * HOUR)
    assert (await sandbox.control("GET", f"numbers/{NUMBER}"))["effective"]["limits"]["tier"] == 10
    for place in range(2, 5):
        await sandbox.text(person(place))
    await sandbox.advance(6 * HOUR)
    assert news(receiver)[-1][1]["max_daily_conversations_per_business"] == -1
    assert len(news(receiver)) == 4
    await sandbox.text(person(9))
    await sandbox.advance(WEEK)
    assert len(news(receiver)) == 4


async def test_use_of_more_than_7_days_ago_does_not_count(sandbox: Driver, receiver: Receiver) -> None:
    await limit(sandbox, tier=4, ladder=[4, 10])
    await sandbox.text(person(0))
    await sandbox.advance(WEEK)
    await sandbox.text(person(1))
    await sandbox.advance(DAY)
    assert news(receiver) == []


async def test_a_red_number_does_not_rise_until_it_is_better(sandbox: Driver, receiver: Receiver) -> None:
    await limit(sandbox, tier=2, ladder=[2, 10])
    await sandbox.control("POST", f"numbers/{NUMBER}/quality", {"rating": "RED"})
    await sandbox.text(person(0))
    await sandbox.advance(12 * HOUR)
    assert [value["event"] for _, value in news(receiver)] == ["FLAGGED"]
    await sandbox.control("POST", f"numbers/{NUMBER}/quality", {"rating": "YELLOW"})
    await sandbox.advance(6 * HOUR)
    assert [value.get("event") for _, value in news(receiver)] == ["FLAGGED", "UNFLAGGED", "UPGRADE", None]


async def test_a_number_that_turned_red_on_the_way_does_not_rise(sandbox: Driver, receiver: Receiver) -> None:
    await limit(sandbox, tier=2, ladder=[2, 10])
    await sandbox.text(person(0))
    await sandbox.control("PATCH", f"numbers/{NUMBER}", {"quality_rating": "RED"})
    await sandbox.advance(12 * HOUR)
    assert news(receiver) == []


async def test_older_versions_have_both_limits(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", f"numbers/{NUMBER}", {"callbacks": {"version": "v24.0"}, "limits": {"tier": 1000}})
    await sandbox.control("POST", f"numbers/{NUMBER}/tier", {"tier": 250})
    await sandbox.advance(0)
    value = news(receiver)[0][1]
    assert (value["event"], value["old_limit"], value["current_limit"]) == ("DOWNGRADE", "TIER_1K", "TIER_250")


async def test_throughput_is_raised_within_a_minute(sandbox: Driver, receiver: Receiver) -> None:
    await limit(sandbox, throughput=2, pair_interval=None)
    await sandbox.control("POST", f"numbers/{NUMBER}/upgrade", {})
    refused = await sandbox.text()
    assert (refused.status, refused.code) == (500, 131057)
    await sandbox.control("POST", f"numbers/{NUMBER}/upgrade", {})
    await sandbox.advance(59.9)
    assert (await sandbox.text()).code == 131057
    await sandbox.advance(0.1)
    assert [value["event"] for _, value in news(receiver)] == ["THROUGHPUT_UPGRADE"]
    assert [(await sandbox.text()).status for _ in range(3)] == [200] * 3
    assert (await sandbox.control("GET", f"numbers/{NUMBER}"))["effective"]["limits"]["throughput"] == 1000


async def test_throughput_is_raised_by_the_rule(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"default_character": "offline"})
    await limit(sandbox, tier=0, upgrade_users=2)
    for place in (0, 0, 1):
        assert (await sandbox.text(person(place))).status == 200
    assert (await sandbox.text(person(2))).code == 131057
    await sandbox.advance(60)
    assert [value["event"] for _, value in news(receiver)] == ["THROUGHPUT_UPGRADE"]
    await sandbox.text(person(3))
    assert (await sandbox.text(person(4))).status == 200


async def test_a_limited_or_red_number_is_not_raised(sandbox: Driver) -> None:
    await limit(sandbox, tier=5, ladder=[5], upgrade_users=1)
    await sandbox.text(person(0))
    assert (await sandbox.text(person(1))).status == 200
    await limit(sandbox, tier=0)
    await sandbox.control("PATCH", f"numbers/{NUMBER}", {"quality_rating": "RED"})
    await sandbox.text(person(2))
    assert (await sandbox.text(person(3))).status == 200


@pytest.mark.parametrize(("status", "code"), [("BANNED", 131031), ("DISCONNECTED", 133010), ("PENDING", 133010)])
async def test_a_closed_number_sends_nothing(sandbox: Driver, status: str, code: int) -> None:
    await sandbox.control("POST", f"numbers/{NUMBER}/status", {"status": status})
    await send_in(sandbox, "text", "hi")
    assert (await sandbox.text()).code == code
    await sandbox.control("POST", f"numbers/{NUMBER}/status", {"status": "CONNECTED"})
    assert (await sandbox.text()).status == 200


async def test_a_ban_and_its_end_are_reported(sandbox: Driver, receiver: Receiver) -> None:
    for status in ("BANNED", "BANNED", "CONNECTED"):
        await sandbox.control("POST", f"numbers/{NUMBER}/status", {"status": status})
    await sandbox.advance(0)
    seen = [(field, value["event"], value["ban_info"]) for field, value in news(receiver)]
    date = "November 14, 2023"
    assert seen == [
        ("account_update", "DISABLED_UPDATE", {"waba_ban_state": "DISABLE", "waba_ban_date": date}),
        ("account_update", "DISABLED_UPDATE", {"waba_ban_state": "REINSTATE", "waba_ban_date": date}),
    ]


async def test_a_restricted_number_only_answers(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("POST", f"numbers/{NUMBER}/status", {"status": "RESTRICTED"})
    refused = await sandbox.text()
    assert (refused.status, refused.code) == (403, 368)
    await send_in(sandbox, "text", "hi")
    assert (await sandbox.text()).status == 200
    await sandbox.advance(0)
    [(field, value)] = news(receiver)
    assert (field, value["event"]) == ("account_update", "ACCOUNT_RESTRICTION")
    [restriction] = value["restriction_info"]
    assert restriction["expiration"] == int(START) + 3 * DAY


async def test_flags(sandbox: Driver, receiver: Receiver) -> None:
    for status in ("FLAGGED", "CONNECTED"):
        await sandbox.control("POST", f"numbers/{NUMBER}/status", {"status": status})
    await sandbox.control("POST", f"numbers/{NUMBER}/quality", {"rating": "YELLOW"})
    await sandbox.control("POST", f"numbers/{NUMBER}/quality", {"rating": "GREEN", "event": "ONBOARDING"})
    await sandbox.advance(0)
    assert [value["event"] for _, value in news(receiver)] == ["FLAGGED", "UNFLAGGED", "ONBOARDING"]


async def test_names(sandbox: Driver, receiver: Receiver) -> None:
    refused = {"name": "Best Shop Ever", "decision": "REJECTED", "rejection_reason": "NAME_FORMAT"}
    assert (await sandbox.control("POST", f"numbers/{NUMBER}/name", refused))["name"] == "Acme"
    assert (await sandbox.control("POST", f"numbers/{NUMBER}/name", {"name": "Shop"}))["name"] == "Shop"
    await sandbox.advance(0)
    assert news(receiver)[1] == (
        "phone_number_name_update",
        {
            "display_phone_number": PHONE,
            "decision": "APPROVED",
            "requested_verified_name": "Shop",
            "rejection_reason": None,
        },
    )


async def test_warnings_and_any_other_updates(sandbox: Driver, receiver: Receiver) -> None:
    info = {"alert_severity": "WARNING", "alert_status": "ACTIVE", "alert_type": "X", "alert_description": "y"}
    await sandbox.control("POST", f"numbers/{NUMBER}/alert", info)
    await sandbox.control("POST", f"wabas/{WABA}/news", {"field": "security", "value": {"event": "PIN_CHANGED"}})
    await sandbox.advance(0)
    entity = {"entity_type": "PHONE_NUMBER", "entity_id": NUMBER, "alert_info": info}
    assert news(receiver) == [("account_alerts", entity), ("security", {"event": "PIN_CHANGED"})]


async def test_an_address_gets_updates_of_its_account_once(sandbox: Driver, receiver: Receiver) -> None:
    other = Receiver()
    await other.open()
    await sandbox.register(receiver.url, phone_number_id="2002", phone="15550002222")
    await sandbox.register(other.url, phone_number_id="2003", phone="15550002223")
    await sandbox.register(other.url, phone_number_id="2004", phone="15550002224", waba_id="5")
    await sandbox.control("POST", f"wabas/{WABA}/news", {"field": "security", "value": {}})
    await sandbox.advance(0)
    assert (len(news(receiver)), len(news(other))) == (1, 1)
    await other.close()


async def test_updates_share_a_callback_with_messages_in_entries_of_their_own(
    sandbox: Driver, receiver: Receiver
) -> None:
    await sandbox.control("PATCH", "settings", {"callbacks": {"batch_max": 3}})
    await send_in(sandbox, "text", "hi")
    await sandbox.control("POST", f"wabas/{WABA}/news", {"field": "security", "value": {"event": "PIN_CHANGED"}})
    await send_in(sandbox, "text", "there")
    await sandbox.advance(0)
    assert len(receiver.bodies) == 1
    assert [(change["field"], "time" in change) for change in changes(receiver)] == [
        ("messages", False),
        ("security", True),
        ("messages", False),
    ]


async def test_a_fault_rule_selects_updates_by_their_field(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("POST", "faults", {"fault": "suppress", "labels": ["security"]})
    await sandbox.control("POST", f"wabas/{WABA}/news", {"field": "security", "value": {}})
    await sandbox.advance(0)
    assert receiver.bodies == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("tier", {"tier": -1}),
        ("quality", {"rating": "PURPLE"}),
        ("status", {"status": ""}),
        ("held", {"outcome": "eat"}),
    ],
)
async def test_impossible_standing(sandbox: Driver, path: str, body: dict[str, Any]) -> None:
    assert (await sandbox.call("POST", f"/control/numbers/{NUMBER}/{path}", body)).status == 400
    assert (await sandbox.call("POST", f"/control/numbers/404/{path}", {})).status in (400, 404)


@pytest.mark.parametrize(
    ("tier", "ladder", "above"),
    [
        (250, (1000, 10_000, 0), 1000),
        (1000, (1000, 10_000, 0), 10_000),
        (10_000, (1000, 10_000, 0), 0),
        (10_000, (1000, 10_000), None),
        (0, (1000, 0), None),
    ],
)
def test_the_ladder(tier: int, ladder: tuple[int, ...], above: int | None) -> None:
    assert next_tier(tier, ladder) == above


def test_the_names_of_tiers() -> None:
    assert [tier_name(tier) for tier in (None, 0, 250, 1000, 100_000)] == [
        "TIER_NOT_SET",
        "TIER_UNLIMITED",
        "TIER_250",
        "TIER_1K",
        "TIER_100K",
    ]


@pytest.mark.parametrize(
    ("throughput", "level"),
    [(None, "NOT_APPLICABLE"), (80, "STANDARD"), (999, "STANDARD"), (1000, "HIGH"), (1001, "HIGH")],
)
def test_the_level_of_a_throughput(throughput: int | None, level: str) -> None:
    assert throughput_level(throughput) == level


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, DAY)), max_size=60), st.integers(1, 4))
def test_a_tier_never_lets_more_people_in(writes: list[tuple[int, float]], tier: int) -> None:
    reach, now, last = OpenedConversations(), 0.0, dict[str, float]()
    for who, gap in writes:
        now += gap
        if reach.may_open(str(who), now, tier):
            reach.note(str(who), now)
            last[str(who)] = now
        recent = {name for name, at in last.items() if at > now - DAY}
        assert len(recent) <= tier
        assert reach.in_day(now) == len(recent)
        assert reach.in_week(now) == sum(at > now - WEEK for at in last.values())
