"""Accepting, sending, receiving and joining at the same time: no contact twice, no message astray, no deadlock."""

import asyncio
from uuid import UUID

from gatepost.model.person import Person
from gatepost.networks.base import StatusUpdate
from gatepost.store.channel_head import channel_transaction
from gatepost.store.contacts.identify import ContactResolver
from tests.inbound.incoming_messages import BOB, contact_of, message_from, read_aliases, receive, snapshot
from tests.outbound.stage import Stage, make_stage
from tests.patience import PATIENCE


async def test_accepting_and_receiving_the_same_strangers_at_once_makes_each_once(stage: Stage) -> None:
    phones = [f"55110000{n:04d}" for n in range(40)]
    people = [Person(phone, f"9{phone}", name="A") for phone in phones]
    parts = [person for p in people for person in (p, Person(p.phone), Person(lid=p.lid))]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(
            *(stage.accept(phone) for phone in reversed(phones)),
            *(receive(stage, message_from(stage, person)) for person in parts),
            *(receive(stage, message_from(stage, person)) for person in reversed(people)),
        )
    assert await read_aliases(stage) == {person.phone: {f"lid:{person.lid}"} for person in people}
    assert len(await stage.rows("conversations")) == 40
    assert {row["contact_id"] for row in await stage.rows("messages")} == {
        row["id"] for row in await stage.rows("contacts")
    }


async def test_sending_receiving_and_joining_at_once_never_lock_each_other_out(stage: Stage) -> None:
    """Intents are noted without the channel's lock, while reports change the same messages and conversations."""
    people = [Person(f"55120000{n:04d}", f"9{n}") for n in range(12)]
    await stage.take_over()
    before = await deadlocks(stage)
    sent = await stage.accept_many([person.phone or "" for person in people] * 4)

    async def talk(person: Person, ids_: list[UUID]) -> None:
        for known in (Person(lid=person.lid), Person(person.phone), person):
            done = [StatusUpdate(f"wamid.{id_.hex}.1", "read", stage.clock.now(), id_, 1) for id_ in ids_]
            await receive(stage, *done, message_from(stage, known), message_from(stage, known))

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(stage.settle(), *(talk(person, sent[n::12]) for n, person in enumerate(people)))
    await stage.settle()
    assert await deadlocks(stage) == before
    assert await read_aliases(stage) == {person.phone: {f"lid:{person.lid}"} for person in people}
    assert {await stage.status(id_) for id_ in sent} == {"READ"}


async def deadlocks(stage: Stage) -> int:
    async with stage.db.connection() as conn:
        return int(await conn.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))


async def test_a_send_that_waited_for_a_join_lands_with_the_joined(stage: Stage) -> None:
    """The contact is read before the channel's lock is had; by then it may be somebody else's past."""
    await receive(stage, message_from(stage, Person("1110000")), message_from(stage, Person("2220000")))
    async with channel_transaction(stage.db, stage.ref, stage.channel_id, stage.clock.now()) as transaction:
        people = ContactResolver(transaction)
        send = asyncio.create_task(stage.accept("1110000"))
        await blocked(stage)
        await people.same(("2220000", "1110000"))
    id_ = await send
    assert await read_aliases(stage) == {"2220000": {"1110000"}}
    assert (await stage.message(id_)).contact_id == (await contact_of(stage, "2220000"))["id"]
    await stage.take_over()
    await stage.settle()
    assert await stage.status(id_) == "SENT"


async def test_a_send_to_a_number_that_became_an_alias_meanwhile_makes_no_second_contact(stage: Stage) -> None:
    await receive(stage, message_from(stage, Person("2220000")))
    async with channel_transaction(stage.db, stage.ref, stage.channel_id, stage.clock.now()) as transaction:
        send = asyncio.create_task(stage.accept("1110000"))
        await blocked(stage)
        await ContactResolver(transaction).same(("2220000", "1110000"))
    await send
    assert await read_aliases(stage) == {"2220000": {"1110000"}}


async def blocked(stage: Stage) -> None:
    """Returns when somebody waits for a lock."""
    async with asyncio.timeout(PATIENCE), stage.db.connection() as conn:
        while not await conn.fetchval(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ):
            await asyncio.sleep(0.005)


async def test_strangers_are_left_alone_by_a_join(stage: Stage) -> None:
    await receive(
        stage, message_from(stage, BOB), message_from(stage, Person("1110000")), message_from(stage, Person(lid="7"))
    )
    other = await make_stage(stage.db)
    await receive(other, message_from(other, Person("1110000")), message_from(other, Person(lid="7")))
    before, bob = await snapshot(other), repr(await contact_of(stage, BOB.phone or ""))
    await receive(stage, message_from(stage, Person("1110000", "7")))
    assert await snapshot(other) == before
    assert repr(await contact_of(stage, BOB.phone or "")) == bob
