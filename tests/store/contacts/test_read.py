"""The plans of looking contacts and orders up: a page reads about as many rows as it shows, however many there are."""

from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from gatepost.model import ids
from gatepost.model.dates import IdRange
from gatepost.store.contacts.read import (
    STEPS,
    ContactFilter,
    FoundContact,
    FoundPage,
    SearchPosition,
    find_people,
    list_contacts,
    search_contacts,
)
from gatepost.store.labels import CONTACT, read_labels_by_contact
from gatepost.store.orders import OrderFilter, list_orders
from tests.outbound.stage import NOW
from tests.store.query_plans import Explained
from tests.store.test_service_plans import rows_of

CHANNEL, OTHER, LABEL = UUID(int=1), UUID(int=2), UUID(int=3)
COUNT = 20_000


async def fill_database(url: str) -> None:
    """Thousands of people on two channels, each with a label and an order."""
    conn = await asyncpg.connect(url)
    for channel_id in (CHANNEL, OTHER):
        await conn.execute(
            """INSERT INTO contacts (channel_id, id, phone, name, given_name, opted_out, created_at, updated_at)
               SELECT $1, gen_random_uuid(), '5511' || lpad(i::text, 7, '0'), 'Ana Nr' || i,
                      CASE WHEN i % 2 = 0 THEN 'Bob Nr' || i END, CASE WHEN i % 1000 = 0 THEN $2::timestamptz END,
                      $2, $2 FROM generate_series(1, $3::int) i""",
            channel_id,
            NOW,
            COUNT,
        )
        await conn.execute(
            "INSERT INTO label_uses SELECT $1, $2, 'contact', id, $3 FROM contacts WHERE channel_id = $1",
            channel_id,
            LABEL,
            NOW,
        )
        await conn.execute(
            """INSERT INTO orders
               SELECT $1, gen_random_uuid(), id, CASE WHEN opted_out IS NULL THEN 'new' ELSE 'shipped' END, '',
                      '', '[]', NULL, NULL, $2, $2 FROM contacts WHERE channel_id = $1""",
            channel_id,
            NOW,
        )
    await conn.close()


ALL = ContactFilter()


@pytest.mark.parametrize("wanted", [ALL, ContactFilter(opted_out=True), ContactFilter(label_id=LABEL)], ids=repr)
async def test_a_page_of_contacts(explained: Explained, wanted: ContactFilter) -> None:
    db, plans = explained
    first = await list_contacts(db, CHANNEL, wanted, None, 10)
    second = await list_contacts(db, CHANNEL, wanted, first.following, 10)
    found = [row.id for row in (*first.contacts, *second.contacts)]
    assert (len(set(found)), found) == (20, sorted(found, reverse=True))
    assert plans
    for plan in plans:
        assert rows_of(plan, "contacts") + rows_of(plan, "label_uses") <= 25, plan.tree


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("ana nr", ["Ana Nr1", "Ana Nr10001", "Ana Nr10003"]),
        ("NR2000", ["Bob Nr2000", "Bob Nr20000"]),
        ("551100000", ["Ana Nr1", "Bob Nr2", "Ana Nr3"]),
        ("nobody", []),
    ],
)
async def test_a_page_of_a_search(explained: Explained, words: str, names: list[str]) -> None:
    db, plans = explained
    found = (await search_contacts(db, CHANNEL, words, ALL, None, 3)).found
    assert [one.contact.name for one in found] == names
    (plan,) = plans
    assert rows_of(plan, "contacts") <= 12, plan.tree
    if names:
        after = (await search_contacts(db, CHANNEL, words, ALL, found[0].match, 3)).found
        assert [one.contact.id for one in after[:2]] == [one.contact.id for one in found[1:]]
        assert rows_of(plans[-1], "contacts") <= 12


async def test_a_search_goes_through_everybody_once(explained: Explained) -> None:
    db, _ = explained
    after: SearchPosition | None = None
    seen: list[UUID] = []
    while page := (await search_contacts(db, CHANNEL, "bob nr1", ALL, after, 1000)).found:
        seen += [one.contact.id for one in page]
        after = page[-1].match
    assert len(seen) == len(set(seen)) == sum(str(i).startswith("1") for i in range(2, COUNT + 1, 2))


async def test_a_search_begins_where_the_words_do(explained: Explained) -> None:
    db, plans = explained
    early, late = [(await search_contacts(db, CHANNEL, words, ALL, None, 10)).found for words in ("ana", "bob nr9999")]
    assert (len(early), [one.contact.name for one in late]) == (10, [])
    late = (await search_contacts(db, CHANNEL, "bob nr9998", ALL, None, 10)).found
    assert [one.contact.name for one in late] == ["Bob Nr9998"]
    assert all(plan.buffers <= 60 for plan in plans)  # all names before Bob fill a hundred pages of the index


@pytest.mark.parametrize("wanted", [ContactFilter(LABEL, True), ContactFilter(None, False)], ids=repr)
async def test_filters_that_fit_few_take_several_short_pages(explained: Explained, wanted: ContactFilter) -> None:
    db, plans = explained
    before: UUID | None = None
    seen: list[UUID] = []
    while True:
        page = await list_contacts(db, CHANNEL, wanted, before, 10_000)
        seen += [row.id for row in page.contacts]
        if (before := page.following) is None:
            break
    every = COUNT // 1_000
    assert len(seen) == len(set(seen)) == (every if wanted.opted_out else COUNT - every)
    assert max(rows_of(plan, "contacts") for plan in plans) <= STEPS
    assert len(plans) >= COUNT // STEPS


@pytest.mark.parametrize("words", ["bob", "nr", "5511"])
async def test_a_search_with_filters_takes_several_short_pages(explained: Explained, words: str) -> None:
    db, plans = explained
    after: SearchPosition | None = None
    seen: list[FoundContact] = []
    while True:
        page = await search_contacts(db, CHANNEL, words, ContactFilter(LABEL, True), after, 1000)
        seen += page.found
        if (after := page.following) is None:
            break
    whole = await search_contacts(db, CHANNEL, words, ALL, None, COUNT)
    assert seen == [one for one in whole.found if one.contact.opted_out]
    assert seen
    assert max(rows_of(plan, "label_uses") for plan in plans) <= 3 * STEPS


async def test_a_place_before_the_words_is_where_they_begin(explained: Explained) -> None:
    db, _ = explained
    whole = await search_contacts(db, CHANNEL, "bob", ALL, None, 10)
    for place in (SearchPosition("ana", UUID(int=2**128 - 1)), SearchPosition("bo", UUID(int=2**128 - 1))):
        assert await search_contacts(db, CHANNEL, "Bob", ALL, place, 10) == whole
    assert await search_contacts(db, CHANNEL, "bob", ALL, SearchPosition("c", ids.ZERO), 10) == FoundPage([], None)


async def test_people_by_their_numbers(explained: Explained) -> None:
    db, plans = explained
    numbers = [f"5511{i:07d}" for i in range(1, 101)]
    async with db.connection() as conn:
        found = await find_people(conn, CHANNEL, [*numbers, "999"])
    assert set(found) == set(numbers)
    assert rows_of(plans[0], "contacts") <= 110
    await read_labels_by_contact(db, CHANNEL, [row.id for row in found.values()], CONTACT)
    assert rows_of(plans[1], "label_uses") <= 110


async def test_a_page_of_orders(explained: Explained) -> None:
    db, plans = explained
    whole = IdRange()
    person = (await list_orders(db, CHANNEL, OrderFilter(whole), None, 10))[0].contact_id
    shipped = await list_orders(db, CHANNEL, OrderFilter(whole, "shipped"), None, 10)
    assert {order.status for order in shipped} == {"shipped"}
    assert len(await list_orders(db, CHANNEL, OrderFilter(whole, None, person), None, 10)) == 1
    assert await list_orders(db, CHANNEL, OrderFilter(whole, "shipped", uuid4()), None, 10) == []
    never = IdRange(ids.floor_id(NOW), ids.floor_id(NOW + timedelta(days=1)))
    assert len(await list_orders(db, CHANNEL, OrderFilter(never, "new"), None, 10)) <= 10
    assert plans
    for plan in plans:
        assert rows_of(plan, "orders") <= 12, plan.tree
        assert rows_of(plan, "contacts") <= 12, plan.tree
