"""The channel's copy of the network's templates: the whole set taken over, news noted, look-ups by name and cursor."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from gatepost.admin import accounts, channels
from gatepost.model.account import Plan
from gatepost.model.errors import NotFound
from gatepost.model.event import ChannelRef
from gatepost.model.network_update import TemplateUpdate
from gatepost.model.template import Template
from gatepost.store import templates as store
from gatepost.store.channel_head import channel_transaction
from gatepost.store.channels import delete_channel
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from gatepost.store.templates import StoredTemplate, Synced, TemplateFilter

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
REF = ChannelRef("ch_1", "official", "15550001111")
PLANS = {"unlimited": Plan("Unlimited")}
BODY = [{"type": "BODY", "text": "Your order is on its way to you."}]


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """Give a fresh database."""
    database = await Database.connect(database_url, connections=3)
    await make_partitions(database, NOW, 7)
    yield database
    await database.close()


@pytest.fixture
async def channel_id(db: Database) -> UUID:
    """Give a channel."""
    return (await new_channel(db))[1]


async def new_channel(db: Database) -> tuple[UUID, UUID]:
    account = await accounts.create_account(db, "Test", "unlimited", plans=PLANS, trial_days=14, now=NOW)
    channel = await channels.create_qr(db, account.id, phone="15550001111", name="Test", limits={}, now=NOW)
    return account.id, channel.id


def template(name: str = "order_sent", language: str = "en_US", **more: Any) -> Template:
    known: dict[str, Any] = {"category": "UTILITY", "components": BODY, "network_id": f"1{len(name)}", **more}
    return Template(name=name, language=language, **known)


async def all_of(db: Database, channel_id: UUID, **wanted: Any) -> list[StoredTemplate]:
    return await store.list_templates(db, channel_id, TemplateFilter(**wanted), None, 100)


async def only(db: Database, channel_id: UUID) -> StoredTemplate:
    (found,) = await all_of(db, channel_id)
    return found


async def tell(db: Database, channel_id: UUID, *news: TemplateUpdate, now: datetime = NOW + SECOND) -> list[str]:
    async with channel_transaction(db, REF, channel_id, now) as transaction:
        return [change.name for change in await store.apply_template_reports(transaction, news)]


# -- the whole set ----------------------------------------------------------------------------------------------------


async def test_a_sync_adds_changes_and_deletes(db: Database, channel_id: UUID) -> None:
    first = [template("a"), template("b"), template("c"), template("c", "pt_BR")]
    assert await store.sync_templates(db, REF, channel_id, first, NOW, NOW) == Synced(4, 0, 0, 0)
    assert await store.sync_templates(db, REF, channel_id, first, NOW, NOW + SECOND) == Synced(0, 0, 0, 4)
    before = {(t.name, t.language): t for t in await all_of(db, channel_id)}
    assert {t.updated_at for t in before.values()} == {NOW}
    second = [template("a"), template("b", status="APPROVED"), template("c", "pt_BR"), template("d")]
    later = NOW + 2 * SECOND
    assert await store.sync_templates(db, REF, channel_id, second, later, later) == Synced(1, 1, 1, 2)
    after = {(t.name, t.language): t for t in await all_of(db, channel_id)}
    assert set(after) == {("a", "en_US"), ("b", "en_US"), ("c", "pt_BR"), ("d", "en_US")}
    changed = after["b", "en_US"]
    assert (changed.status, changed.id, changed.updated_at) == ("APPROVED", before["b", "en_US"].id, later)


async def test_an_update_is_newer_than_the_answer_to_an_older_request(db: Database, channel_id: UUID) -> None:
    await store.sync_templates(db, REF, channel_id, [template()], NOW, NOW)
    asked_at, told_at = NOW + SECOND, NOW + 2 * SECOND
    await tell(db, channel_id, TemplateUpdate("110", "order_sent", "en_US", status="APPROVED"), now=told_at)
    done = await store.sync_templates(db, REF, channel_id, [template()], asked_at, NOW + 3 * SECOND)
    assert done == Synced(0, 0, 0, 1)
    assert (await only(db, channel_id)).status == "APPROVED"
    await store.sync_templates(db, REF, channel_id, [template()], told_at, NOW + 4 * SECOND)
    assert (await only(db, channel_id)).status == "PENDING"


async def test_a_sync_keeps_the_details_of_a_reason(db: Database, channel_id: UUID) -> None:
    await store.sync_templates(db, REF, channel_id, [template()], NOW, NOW)
    cases = {
        "REJECTED": ("INVALID_FORMAT: Variables: Add words", "INVALID_FORMAT"),
        "PAUSED": ("FIRST_PAUSE: 3 hours", "NONE"),
    }
    for status, (reported, listed) in cases.items():
        await tell(db, channel_id, TemplateUpdate("110", "order_sent", "en_US", status=status, reason=reported))
        for _ in range(2):
            found = [template(status=status, reason=listed)]
            await store.sync_templates(db, REF, channel_id, found, NOW + 2 * SECOND, NOW + 2 * SECOND)
            assert (await only(db, channel_id)).reason == reported
    found = [template(status="REJECTED", reason="SCAM")]
    await store.sync_templates(db, REF, channel_id, found, NOW + 3 * SECOND, NOW + 3 * SECOND)
    assert (await only(db, channel_id)).reason == "SCAM"


async def test_a_sync_leaves_what_the_network_could_not_know(db: Database, channel_id: UUID) -> None:
    await store.sync_templates(db, REF, channel_id, [template("known")], NOW, NOW)
    await store.reserve_template(db, channel_id, template("handed_in", network_id=None), NOW)
    later, minutes = NOW + SECOND, timedelta(minutes=5)
    await store.put_template(db, REF, channel_id, template("younger"), later, later)
    await tell(db, channel_id, TemplateUpdate("15", "known", "en_US", status="PENDING_DELETION"), now=later)
    assert (await store.sync_templates(db, REF, channel_id, [], NOW, later)).deleted == 1
    assert [t.name for t in await all_of(db, channel_id)] == ["younger", "handed_in"]
    assert (await store.sync_templates(db, REF, channel_id, [], NOW + minutes - SECOND, later)).deleted == 1
    assert [t.name for t in await all_of(db, channel_id)] == ["handed_in"]
    assert (await store.sync_templates(db, REF, channel_id, [], NOW + minutes, later)).deleted == 1


async def test_a_reading_does_not_undo_newer_updates(db: Database, channel_id: UUID) -> None:
    await store.sync_templates(db, REF, channel_id, [template()], NOW, NOW)
    seen = TemplateUpdate("110", "order_sent", "en_US", status="PAUSED", reason="FIRST_PAUSE", quality="RED")
    await tell(db, channel_id, seen, now=NOW + 2 * SECOND)
    other = [{"type": "BODY", "text": "Another text"}]
    await store.put_template(db, REF, channel_id, template(components=other), NOW + SECOND, NOW + 3 * SECOND)
    found = await only(db, channel_id)
    assert (found.status, found.reason, found.quality) == ("PAUSED", "FIRST_PAUSE", "RED")
    assert found.as_template().components == other
    await store.put_template(db, REF, channel_id, template(), NOW + 4 * SECOND, NOW + 4 * SECOND)
    assert (await only(db, channel_id)).as_template() == template(quality="UNKNOWN")


async def test_two_channels_of_one_account_have_their_own_rows(db: Database, channel_id: UUID) -> None:
    _, other = await new_channel(db)
    await store.sync_templates(db, REF, channel_id, [template("a")], NOW, NOW)
    await store.sync_templates(db, REF, other, [template("a"), template("b")], NOW, NOW)
    await tell(db, other, TemplateUpdate("11", "a", "en_US", status="REJECTED"))
    assert (await only(db, channel_id)).status == "PENDING"
    mine = await only(db, channel_id)
    assert await store.get_template(db, other, mine.id) is None
    assert not await store.delete_template(db, other, mine.id)
    assert await store.sync_templates(db, REF, other, [], NOW + SECOND, NOW + SECOND) == Synced(0, 0, 2, 0)
    assert len(await all_of(db, channel_id)) == 1


async def test_templates_go_with_their_channel(db: Database) -> None:
    account_id, channel_id = await new_channel(db)
    await store.sync_templates(db, REF, channel_id, [template()], NOW, NOW)
    assert await delete_channel(db, account_id, channel_id)
    assert await all_of(db, channel_id) == []
    with pytest.raises(NotFound):
        await store.sync_templates(db, REF, channel_id, [template()], NOW, NOW)
    with pytest.raises(NotFound):
        await store.reserve_template(db, uuid4(), template(), NOW)


# -- one template -----------------------------------------------------------------------------------------------------


async def _reserve(db: Database, channel_id: UUID) -> StoredTemplate:
    reserved = await store.reserve_template(db, channel_id, template(network_id=None), NOW)
    assert reserved is not None
    assert not reserved.again
    return reserved.template


async def test_a_name_is_taken_once_per_language(db: Database, channel_id: UUID) -> None:
    reserved = await _reserve(db, channel_id)
    assert (reserved.status, reserved.network_id, reserved.quality) == ("PENDING", None, "UNKNOWN")
    assert await store.reserve_template(db, channel_id, template(), NOW) is None
    assert await store.reserve_template(db, channel_id, template(language="pt_BR"), NOW) is not None


async def test_the_networks_answer_confirms_a_template(db: Database, channel_id: UUID) -> None:
    reserved = await _reserve(db, channel_id)
    made = template(network_id="77", category="MARKETING", status="PENDING")
    confirmed = await store.confirm_template(db, REF, channel_id, reserved, made, NOW + SECOND)
    assert (confirmed.network_id, confirmed.category, confirmed.status) == ("77", "MARKETING", "PENDING")
    await store.delete_template(db, channel_id, reserved.id)
    assert await store.confirm_template(db, REF, channel_id, reserved, made, NOW) == reserved


async def test_an_update_may_come_before_the_answer(db: Database, channel_id: UUID) -> None:
    reserved = await _reserve(db, channel_id)
    assert await tell(db, channel_id, TemplateUpdate("77", "order_sent", "en_US", status="APPROVED")) == []
    confirmed = await store.confirm_template(db, REF, channel_id, reserved, template(network_id="77"), NOW + SECOND)
    assert (confirmed.status, confirmed.network_id) == ("APPROVED", "77")


# -- news -------------------------------------------------------------------------------------------------------------


async def test_each_kind_of_update_changes_its_own_field(db: Database, channel_id: UUID) -> None:
    await store.sync_templates(db, REF, channel_id, [template(network_id="7")], NOW, NOW)

    async def after(**news: Any) -> tuple[Any, ...]:
        assert await tell(db, channel_id, TemplateUpdate("7", "order_sent", "en_US", **news)) == []
        found = await only(db, channel_id)
        return found.status, found.reason, found.quality, found.category

    assert await after(status="REJECTED", reason="SCAM") == ("REJECTED", "SCAM", "UNKNOWN", "UTILITY")
    assert await after(quality="YELLOW") == ("REJECTED", "SCAM", "YELLOW", "UTILITY")
    assert await after(category="MARKETING") == ("REJECTED", "SCAM", "YELLOW", "MARKETING")
    assert await after(status="APPROVED") == ("APPROVED", None, "YELLOW", "MARKETING")
    assert await after(status="FLAGGED", reason="Low quality") == ("APPROVED", "Low quality", "YELLOW", "MARKETING")
    assert await after() == ("APPROVED", "Low quality", "YELLOW", "MARKETING")
    assert (await only(db, channel_id)).updated_at == NOW + SECOND
    assert await tell(db, channel_id, TemplateUpdate("7", "order_sent", "en_US", status="DELETED")) == []
    assert await all_of(db, channel_id) == []


async def test_an_update_finds_its_template_by_its_id(db: Database, channel_id: UUID) -> None:
    there = [template(network_id="7"), template(language="pt_BR", network_id="8")]
    await store.sync_templates(db, REF, channel_id, there, NOW, NOW)
    unknown = await tell(
        db,
        channel_id,
        TemplateUpdate("8", "order_sent", "xx", status="APPROVED"),
        TemplateUpdate("9", "order_sent", "en_US", status="DISABLED"),
        TemplateUpdate("7", "somebody_elses", "en_US", status="DISABLED"),
    )
    assert unknown == ["order_sent", "somebody_elses"]
    assert {t.language: t.status for t in await all_of(db, channel_id)} == {"en_US": "PENDING", "pt_BR": "APPROVED"}


async def test_the_last_of_several_updates_counts(db: Database, channel_id: UUID) -> None:
    await store.sync_templates(db, REF, channel_id, [template(network_id="7")], NOW, NOW)
    words = ("APPROVED", "PAUSED", "DISABLED")
    news = [TemplateUpdate("7", "order_sent", "en_US", status=word, reason=word.lower()) for word in words]
    await tell(db, channel_id, *news)
    found = await only(db, channel_id)
    assert (found.status, found.reason) == ("DISABLED", "disabled")


# -- looking ----------------------------------------------------------------------------------------------------------


async def test_names_and_languages_are_looked_up_together(db: Database, channel_id: UUID) -> None:
    there = [template("a"), template("b"), template("b", "pt_BR")]
    await store.sync_templates(db, REF, channel_id, there, NOW, NOW)
    async with db.connection() as conn:
        keys = [("b", "pt_BR"), ("a", "en_US"), ("a", "pt_BR"), ("a", "en_US"), ("c", "en_US")]
        found = await store.find_templates(conn, channel_id, keys)
        assert await store.find_templates(conn, channel_id, []) == {}
        assert await store.find_templates(conn, uuid4(), keys) == {}
    assert set(found) == {("a", "en_US"), ("b", "pt_BR")}
    assert found["a", "en_US"].as_template() == template("a", quality="UNKNOWN")


async def test_lists_are_narrowed_and_paged(db: Database, channel_id: UUID) -> None:
    there = [
        template("order_sent", status="APPROVED"),
        template("order_paid", "pt_BR", category="MARKETING"),
        template("code", category="AUTHENTICATION", status="APPROVED"),
        template("100_percent"),
    ]
    await store.sync_templates(db, REF, channel_id, there, NOW, NOW)

    async def names(**wanted: Any) -> list[str]:
        return [t.name for t in await all_of(db, channel_id, **wanted)]

    everything = await names()
    assert everything == ["100_percent", "code", "order_paid", "order_sent"]
    assert await names(status="APPROVED") == ["code", "order_sent"]
    assert await names(category="MARKETING") == ["order_paid"]
    assert await names(language="pt_BR") == ["order_paid"]
    assert await names(name="order_") == ["order_paid", "order_sent"]
    assert await names(name="order%") == []
    assert await names(status="APPROVED", name="order") == ["order_sent"]
    pages, before = [], None
    while page := await store.list_templates(db, channel_id, TemplateFilter(), before, 3):
        pages += [t.name for t in page]
        before = page[-1].id
    assert pages == everything
