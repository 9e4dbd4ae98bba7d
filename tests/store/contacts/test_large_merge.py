"""Contacts with very many messages are merged in parts: the channel works on meanwhile, and a kill does no harm."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any
from uuid import UUID

import pytest

from gatepost.model import ids
from gatepost.model.message import State
from gatepost.networks.base import ContactUpdate, Person
from gatepost.store.contacts import large_merge
from gatepost.store.contacts.changes import merge_contacts
from gatepost.store.contacts.large_merge import AT_ONCE
from gatepost.store.messages.send import SendResult, mark_results
from tests.inbound.incoming_messages import contact_of, data, message_from, receive, row_of
from tests.outbound.stage import Stage

MANY = 2 * AT_ONCE + 100
STAYS, GOES = "5511999990001", "lid:77"


@pytest.fixture
async def limited(stage: Stage) -> AsyncIterator[Stage]:
    """Yield a stage whose database refuses a statement that changes more messages than a part has."""
    async with stage.db.connection() as conn:
        await conn.execute(
            f"""CREATE FUNCTION refuse_many() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF (SELECT count(*) FROM changed) > {AT_ONCE} THEN RAISE 'too many messages'; END IF;
                    RETURN NULL;
                END $$"""
        )
        await conn.execute(
            """CREATE TRIGGER refuse_many AFTER UPDATE ON messages REFERENCING NEW TABLE AS changed
               FOR EACH STATEMENT EXECUTE FUNCTION refuse_many()"""
        )
    yield stage
    async with stage.db.connection() as conn:
        await conn.execute("DROP FUNCTION refuse_many CASCADE")


async def fill(stage: Stage, phone: str, count: int = MANY) -> UUID:
    """Give a contact many messages, and return it."""
    contact: UUID = (await contact_of(stage, phone))["id"]
    async with stage.db.connection() as conn:
        await conn.execute(
            """INSERT INTO messages (channel_id, id, contact_id, phone, incoming, bulk, state, type, content,
                                     created_at, event_ids)
               SELECT $1, overlay($3::text PLACING lpad(to_hex(i), 12, '0') FROM 25)::uuid, $2, $5, true, false, 10,
                      'text', '{}', $6, '{}' FROM generate_series(1, $4) i""",
            stage.channel_id,
            contact,
            str(ids.floor_id(stage.clock.now())),
            count,
            phone,
            stage.clock.now(),
        )
    return contact


async def two_contacts(stage: Stage) -> tuple[UUID, UUID]:
    """Receive messages of two contacts, of whom the second one has many."""
    await receive(stage, message_from(stage, Person(STAYS)), message_from(stage, Person(lid="77")))
    return (await contact_of(stage, STAYS))["id"], await fill(stage, GOES)


async def owners(stage: Stage) -> dict[UUID, int]:
    """Count the messages of each contact."""
    async with stage.db.connection() as conn:
        rows = await conn.fetch(
            "SELECT contact_id, count(*) FROM messages WHERE channel_id = $1 GROUP BY 1", stage.channel_id
        )
    return {row["contact_id"]: row["count"] for row in rows}


async def test_people_merge_contacts(limited: Stage) -> None:
    stays, goes = await two_contacts(limited)
    merged = await merge_contacts(limited.db, limited.ref, limited.channel_id, stays, goes, limited.clock.now())
    assert merged is not None
    assert await owners(limited) == {stays: MANY + 2}
    assert [event["joined"] for event in await data(limited, "contact")] == [[ids.format_id("ct", goes)]]
    assert await merge_contacts(limited.db, limited.ref, limited.channel_id, stays, goes, limited.clock.now()) is None


async def test_the_network_reports_that_two_are_one(limited: Stage) -> None:
    stays, goes = await two_contacts(limited)
    target = message_from(limited, Person(STAYS))
    reaction = message_from(
        limited, Person(lid="77"), "reaction", {"reaction": {"emoji": "x"}}, target=target.network_id
    )
    await receive(limited, target, reaction)
    await receive(limited, message_from(limited, Person(STAYS, "77")))
    assert (await owners(limited)).keys() == {stays}
    assert ids.format_id("ct", goes) not in (await row_of(limited, target))["reactions"]
    assert [event["joined"] for event in await data(limited, "contact")] == [[ids.format_id("ct", goes)]]


async def test_the_answer_to_a_message_says_that_two_are_one(limited: Stage) -> None:
    await limited.take_over(connected=False)
    message = await limited.accept("5511999990002")
    await receive(limited, message_from(limited, Person(STAYS)))
    await fill(limited, "5511999990002")
    result = SendResult(message, 0, State.SENT, f"wamid.{message.hex}", alias=STAYS)
    await mark_results(limited.db, limited.lease, limited.ref, [result], limited.clock.now())
    assert len(await owners(limited)) == 1


async def test_the_contact_that_stays_may_be_new(limited: Stage) -> None:
    """Nothing can be moved to it before the report is received, so that all is one commit."""
    await receive(limited, message_from(limited, Person("5511999990002")))
    await fill(limited, "5511999990002")
    changed = ContactUpdate(Person(STAYS), limited.clock.now(), old_phone="5511999990002")
    await receive(limited, message_from(limited, Person(STAYS)), changed)
    assert await owners(limited) == {(await contact_of(limited, STAYS))["id"]: MANY + 2}


class Killed(BaseException):
    """The process ends."""


def killing(real: Callable[..., Coroutine[Any, Any, bool]], nth: int) -> Callable[..., Coroutine[Any, Any, bool]]:
    """Return a function that ends the process after the nth call."""
    calls = 0

    async def call(*arguments: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls > nth:
            raise Killed
        return await real(*arguments)

    return call


@pytest.mark.parametrize("parts", [0, 1, 2])
async def test_a_merge_that_is_interrupted_goes_on(limited: Stage, monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    stays, goes = await two_contacts(limited)
    merge = (limited.db, limited.ref, limited.channel_id, stays, goes, limited.clock.now())
    with monkeypatch.context() as patch:
        patch.setattr(large_merge, "_move_some", killing(large_merge._move_some, parts))
        with pytest.raises(Killed):
            await merge_contacts(*merge)
    assert await owners(limited) == {stays: 1 + parts * AT_ONCE, goes: MANY + 1 - parts * AT_ONCE}
    await receive(limited, message_from(limited, Person(STAYS)))  # the channel works on, with both contacts
    assert await data(limited, "contact") == []
    await merge_contacts(*merge)
    assert await owners(limited) == {stays: MANY + 3}
