"""The tier of a number: by which rule it rises, who may raise it, and how a linked number warms up."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.admin.vault import Vault
from gatepost.network_factory import NetworkFactory
from gatepost.outbound import pace
from gatepost.outbound.number_limits import NumberLimits, TierPromotion
from gatepost.settings import load
from gatepost.store.channels import ChannelConfig, get_config
from gatepost.store.links import LinkRow
from gatepost.webhooks.guard import Guard
from tests.for_each import for_each
from tests.outbound.stage import FAST, NOW, Stage

PHONES = [f"55119000000{i:02d}" for i in range(60)]
LADDER = (10, 20, 40, 0)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
RISING = msgspec.structs.replace(FAST, tier=10, ladder=LADDER, rise_after=DAY, tier_since=NOW, quality="GREEN")
steps = st.lists(st.integers(0, 1000), max_size=6)


def rising(**changes: Any) -> NumberLimits:
    return msgspec.structs.replace(RISING, **changes)


# -- the rule ---------------------------------------------------------------------------------------------------------


@for_each(
    ("tier", "used", "quality", "after"),
    [
        (1000, 500, "GREEN", 10_000),
        (1000, 499, "GREEN", 1000),
        (1000, 500, None, 10_000),
        (1000, 500, "YELLOW", 10_000),
        (1000, 1000, "RED", 1000),
        (250, 125, "GREEN", 1000),
        (251, 125, "GREEN", 251),
        (251, 126, "GREEN", 1000),
        (100_000, 50_000, "GREEN", 0),
        (0, 10**9, "GREEN", 0),
    ],
)
def test_half_of_the_tier_used_with_good_quality_earns_the_next(
    tier: int, used: int, quality: str | None, after: int
) -> None:
    assert pace.next_tier((1000, 10_000, 100_000, 0), tier, used, quality) == after


def test_at_the_end_of_a_ladder_without_the_last_step_it_stays() -> None:
    assert pace.next_tier((1000, 10_000), 10_000, 10_000, "GREEN") == 10_000
    assert pace.next_tier((), 1000, 1000, "GREEN") == 1000


@given(steps, st.integers(0, 1000), st.integers(0, 2000), st.sampled_from([None, "GREEN", "YELLOW", "RED"]))
def test_a_tier_never_falls_and_rises_by_one_step(ladder: list[int], tier: int, used: int, quality: str | None) -> None:
    after = pace.next_tier(ladder, tier, used, quality)
    if after == tier:
        return
    assert tier > 0
    assert after in ladder
    assert after == 0 or after > tier
    assert not any(tier < step and (after == 0 or step < after) for step in ladder), "no step is left out"


@for_each(
    ("days", "allowed"),
    [(-1, 20), (0, 20), (0.99, 20), (1, 30), (1.99, 30), (2, 45), (6, 227), (7, 250), (100, 250), (1e9, 250)],
)
def test_a_linked_number_warms_up_day_by_day(days: float, allowed: int) -> None:
    assert pace.warm_up(days, 20, 1.5, 250) == allowed


def test_without_a_cap_it_grows_on_and_never_begins_without_limit() -> None:
    assert [pace.warm_up(days, 20, 1.5, 0) for days in (0, 1, 10)] == [20, 30, 1153]


@given(st.floats(0, 1e6), st.integers(1, 1000), st.floats(1, 100), st.integers(0, 10**6))
def test_warming_up_never_falls_back_and_never_means_no_limit(
    days: float, first: int, growth: float, most: int
) -> None:
    assert 0 < pace.warm_up(days, first, growth, most) <= pace.warm_up(days + 1, first, growth, most)


# -- the climb --------------------------------------------------------------------------------------------------------


async def opened(stage: Stage, people: int) -> TierPromotion:
    """A climb on a channel that has opened so many conversations."""
    await stage.take_over()
    await stage.accept_many(PHONES[:people])
    await stage.drive(1)
    return TierPromotion(stage.db, stage.ref, stage.lease)


async def kept(stage: Stage) -> tuple[Any, Any]:
    config = await get_config(stage.db, stage.channel_id)
    assert config is not None
    return config.limits.get("tier"), config.state.get("tier_since")


async def promotions(stage: Stage) -> list[tuple[int, int]]:
    """The new and the old tier of each event about one."""
    rows = await stage.rows("events", "AND type = 'system_notification' ORDER BY id")
    events = [msgspec.json.decode(row["body"]) for row in rows]
    assert {event["action"] for event in events} <= {"number_tier_changed"}
    return [(event["data"]["tier"], event["data"]["previous"]) for event in events]


@pytest.mark.parametrize(("people", "tier"), [(4, 10), (5, 20)])
async def test_it_rises_at_half_and_not_one_under(stage: Stage, people: int, tier: int) -> None:
    climb = await opened(stage, people)
    assert (await climb.look(RISING, NOW + DAY)).tier == tier


async def test_it_rises_when_the_time_has_come_and_not_before(stage: Stage) -> None:
    climb = await opened(stage, 10)
    assert await climb.look(RISING, NOW + DAY - timedelta(microseconds=1)) == RISING
    assert await kept(stage) == (None, None)
    assert await climb.look(RISING, NOW + DAY) == rising(tier=20, tier_since=NOW + DAY)
    assert await kept(stage) == (20, "2026-11-16T10:00:00.000Z")
    assert await promotions(stage) == [(20, 10)]


async def test_a_bad_quality_keeps_it_down_until_it_is_better(stage: Stage) -> None:
    climb = await opened(stage, 10)
    bad = rising(quality="RED")
    assert await climb.look(bad, NOW + DAY) == bad
    assert await climb.look(RISING, NOW + DAY + timedelta(minutes=9)) == RISING, "it looks every ten minutes"
    assert (await climb.look(RISING, NOW + DAY + timedelta(minutes=10))).tier == 20


async def test_what_was_used_more_than_a_week_ago_earns_nothing(stage: Stage) -> None:
    climb = await opened(stage, 10)
    week = NOW + timedelta(days=7)
    assert await climb.look(RISING, week) == RISING
    again = TierPromotion(stage.db, stage.ref, stage.lease)
    assert (await again.look(RISING, week - timedelta(microseconds=1))).tier == 20


async def test_it_climbs_to_the_end_of_the_ladder_and_stays(stage: Stage) -> None:
    climb = await opened(stage, 40)
    limits, seen = RISING, [RISING.tier]
    for day in range(1, 7):
        limits = await climb.look(limits, NOW + day * DAY)
        seen.append(limits.tier)
    assert seen == [10, 20, 40, 0, 0, 0, 0]
    assert (await kept(stage))[0] == 0
    assert await promotions(stage) == [(20, 10), (40, 20), (0, 40)]


@pytest.mark.parametrize("changes", [{"ladder": ()}, {"tier_since": None}, {"tier": 0}])
async def test_where_nothing_is_to_be_climbed_nothing_is_looked_at(stage: Stage, changes: dict[str, Any]) -> None:
    climb = await opened(stage, 10)
    assert await climb.look(rising(**changes), NOW + DAY) == rising(**changes)
    assert await kept(stage) == (None, None)


async def test_a_stale_owner_raises_nothing(stage: Stage) -> None:
    climb = await opened(stage, 10)
    await stage.take_over()
    assert await climb.look(RISING, NOW + DAY) == RISING
    assert await kept(stage) == (None, None)
    assert await promotions(stage) == []


async def test_a_tier_that_somebody_set_meanwhile_stands(stage: Stage) -> None:
    climb = await opened(stage, 10)
    async with stage.db.connection() as conn:
        await conn.execute("""UPDATE channels SET limits = '{"tier": 7}' WHERE id = $1""", stage.channel_id)
    assert await climb.look(RISING, NOW + DAY) == RISING
    assert (await kept(stage))[0] == 7


async def test_a_lane_rises_and_sends_on_at_once(stage: Stage) -> None:
    await stage.take_over(RISING)
    await stage.accept_many(PHONES[:60], ttl=7 * 86_400)
    await stage.drive(2 * 86_400 + 600, stride=600)
    hours = [round(at / 3600) for at in stage.network.times]
    assert [(hour, hours.count(hour)) for hour in sorted(set(hours))] == [(0, 10), (24, 20), (48, 30)]
    assert (await stage.pace())["tier"] == {
        "limit": 40,
        "used": 30,
        "free": 10,
        "free_at": None,
        "since": "2026-11-17T10:00:00.000Z",
        "waiting": 0,
    }


# -- which limits are in force ----------------------------------------------------------------------------------------


@pytest.fixture
async def networks(tmp_path: Path) -> AsyncIterator[NetworkFactory]:
    """Give the ways with settings of our own; nothing is called."""
    pace_ = {"pace.tier": 10, "pace.ladder": list(LADDER), "pace.rise_hours": 6}
    options = {"data": str(tmp_path), "cloud.base_url": "http://127.0.0.1:9", **pace_}
    one = NetworkFactory(load(environ={}, overrides=options), Vault(bytes(32)), "", Guard())
    yield one
    await one.close()


async def config_of(stage: Stage, **changes: Any) -> ChannelConfig:
    config = await get_config(stage.db, stage.channel_id)
    assert config is not None
    return msgspec.structs.replace(config, **changes)


async def test_an_official_number_climbs_from_the_day_it_came(stage: Stage, networks: NetworkFactory) -> None:
    limits = networks.limits(await config_of(stage, kind="official"), None, NOW)
    assert (limits.tier, limits.ladder, limits.rise_after, limits.tier_since) == (10, LADDER, 6 * HOUR, NOW)
    told = {"tier_since": "2026-11-16T10:00:00.000Z", "quality": "RED"}
    limits = networks.limits(await config_of(stage, kind="official", limits={"tier": 20}, state=told), None, NOW)
    assert (limits.tier, limits.tier_since, limits.quality) == (20, NOW + DAY, "RED")


async def test_what_was_read_of_a_number_goes_before_the_settings(stage: Stage, networks: NetworkFactory) -> None:
    for told, tier, throughput in (
        ({"tier": 2000, "throughput": 1000}, 2000, 1000),
        ({"tier": 0, "throughput": 80}, 0, 80),
        ({"quality": "GREEN"}, 10, 80),
    ):
        limits = networks.limits(await config_of(stage, kind="official", state=told), None, NOW)
        assert (limits.tier, limits.throughput) == (tier, throughput)


async def test_a_tier_set_by_a_person_rises_no_higher_than_the_network_said(
    stage: Stage, networks: NetworkFactory
) -> None:
    config = await config_of(stage, kind="official", limits={"tier": 10}, state={"tier": 20, "quality": "GREEN"})
    limits = networks.limits(config, None, NOW)
    assert pace.next_tier(limits.ladder, 10, 10, "GREEN") == 20
    assert pace.next_tier(limits.ladder, 20, 20, "GREEN") == 20


@for_each(
    ("told", "steps"),
    [(None, (10, 20, 0)), (0, (10, 20, 0)), (9, ()), (10, (10,)), (19, (10,)), (20, (10, 20)), (21, (10, 20))],
)
def test_a_ladder_ends_where_the_network_says(told: int | None, steps: tuple[int, ...]) -> None:
    assert pace.promotable_tiers((10, 20, 0), told) == steps


async def test_the_networks_own_word_ends_our_ladder(stage: Stage, networks: NetworkFactory) -> None:
    state = {"tier_from": "network", "tier_since": "2026-11-15T10:00:00.000Z"}
    config = await config_of(stage, kind="official", limits={"tier": 20}, state=state)
    limits = networks.limits(config, None, NOW + 7 * DAY)
    assert (limits.tier, limits.ladder) == (20, ())
    climb = await opened(stage, 20)
    assert await climb.look(limits, NOW + 2 * DAY) == limits


@pytest.mark.parametrize(("days", "tier"), [(None, 20), (0, 20), (1, 30), (2, 45), (7, 250), (30, 250)])
async def test_a_linked_number_may_write_to_more_new_people_each_day(
    stage: Stage, networks: NetworkFactory, days: int | None, tier: int
) -> None:
    link = None if days is None else LinkRow(linked_at=NOW - timedelta(days=days))
    limits = networks.limits(await config_of(stage), link, NOW)
    assert (limits.tier, limits.ladder, limits.throughput) == (tier, (), 1)
    assert (limits.pair_seconds, limits.pair_burst) == (2, 10)


async def test_what_a_person_set_takes_precedence_on_both(stage: Stage, networks: NetworkFactory) -> None:
    by_hand = {"tier": 3, "throughput": 5, "window": 0}
    for kind in ("qr", "official"):
        limits = networks.limits(await config_of(stage, kind=kind, limits=by_hand), LinkRow(linked_at=NOW), NOW)
        assert (limits.tier, limits.throughput) == (3, 5)


async def test_a_linked_number_keeps_to_its_first_day(stage: Stage, networks: NetworkFactory) -> None:
    linked = LinkRow(linked_at=NOW)
    await stage.take_over(networks.limits(await config_of(stage), linked, stage.clock.now()))
    await stage.accept_many(PHONES[:50], ttl=7 * 86_400)
    await stage.drive(30)
    await stage.drive(86_400 - 30, stride=600)
    assert len(stage.network.calls) == 20
    stage.sender.adjust(stage.network, networks.limits(await config_of(stage), linked, stage.clock.now()))
    await stage.drive(60)
    assert len(stage.network.calls) == 50, "thirty on the second day"
