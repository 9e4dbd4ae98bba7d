"""Thousands of contacts, and typical changes of a few of them, for tests of query plans."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
import msgspec

from gatepost.model import ids
from gatepost.model.message import State
from gatepost.model.send_request import SendRequest
from gatepost.model.template.values import Template
from gatepost.networks.base import ContactUpdate, Incoming, LabelUpdate, NumberUpdate, Person, StatusUpdate
from gatepost.outbound.accept import ROUTE
from gatepost.store.channels import close_unopened, count_opened, find_open_conversations
from gatepost.store.messages.send import SendResult, mark_results
from gatepost.store.numbers import raise_tier
from gatepost.store.templates import put_template
from tests.inbound.incoming_messages import message_from, receive
from tests.outbound.stage import Stage

CONTACT_TABLES = (
    "contacts",
    "conversations",
    "contact_aliases",
    "labels",
    "label_uses",
    "orders",
    "media",
    "templates",
    "idempotency_keys",
)


async def fill_people(url: str, channel_id: UUID, *, count: int, now: datetime, prefix: str = "4400") -> None:
    """Add contacts, each with a conversation, two aliases, an order, a label, a parked status and a key of a send."""
    conn = await asyncpg.connect(url)
    people = f"FROM contacts WHERE channel_id = $1 AND phone LIKE '{prefix}%'"
    await conn.execute(
        f"""INSERT INTO contacts (channel_id, id, phone, created_at, updated_at)
           SELECT $1, gen_random_uuid(), '{prefix}' || i, $2, $2 FROM generate_series(1, $3::int) i""",
        channel_id,
        now,
        count,
    )
    for statement in (
        f"INSERT INTO conversations (channel_id, contact_id, opened_at, created_at) SELECT $1, id, $2, $2 {people}",
        f"INSERT INTO contact_aliases SELECT $1, 'lid:' || phone, id {people} AND $2 < now() + interval '99 years'",
        f"INSERT INTO contact_aliases SELECT $1, 'user:' || phone, id {people} AND $2 < now() + interval '99 years'",
        f"""INSERT INTO orders SELECT $1, gen_random_uuid(), id, 'new', '', '', '[]', NULL, NULL, $2, $2 {people}""",
        f"""INSERT INTO label_uses SELECT $1, gen_random_uuid(), 'conversation', id, $2 {people}""",
        f"INSERT INTO labels SELECT $1, gen_random_uuid(), 'old' || phone, 'Old' || phone, '', $2, $2 {people}",
        f"INSERT INTO idempotency_keys SELECT $1, '{ROUTE}', 'key-' || phone, '', '', $2 {people}",
        f"""INSERT INTO parked_statuses SELECT $1, phone, gen_random_uuid(), '{{}}' {people}
            AND $2 < now() + interval '99 years'""",
    ):
        await conn.execute(statement, channel_id, now)
    await conn.execute("SELECT pg_stat_force_next_flush()")  # so that these reads are not counted later
    await conn.execute("SELECT 1")
    await conn.close()


async def receive_from_contacts(stage: Stage, mark: str = "1") -> None:
    """Receive messages from known contacts by each of their ids, from new ones, and from some with new aliases."""
    strangers = [Person(f"4500{mark}{i}", f"9{mark}{i}", f"U{mark}{i}", "New") for i in range(3)]
    known = [Person("44001", name="Ana"), Person(lid="44002", name="Bob"), Person(user_id="44003", username="x")]
    await receive(stage, *(message_from(stage, person) for person in (*strangers, *known)))
    named = [Person("44004", lid=f"8{mark}"), Person(f"4600{mark}", lid="44005")]
    await receive(stage, *(message_from(stage, person) for person in named))
    await receive(stage, ContactUpdate(Person(f"4700{mark}"), stage.clock.now(), old_phone=f"4500{mark}0"))


async def merge_contacts(stage: Stage, mark: str = "1") -> None:
    """Merge two contacts that have messages, an order and a label."""
    one, two = Person(f"4800{mark}"), Person(lid=f"48{mark}")
    label = LabelUpdate("L1", "assigned", stage.clock.now(), "VIP", 1, two)
    await receive(
        stage,
        message_from(stage, one),
        message_from(stage, two),
        message_from(stage, two, "order", {"order": {"text": "x"}}),
        label,
    )
    await receive(stage, message_from(stage, Person(one.phone, two.lid)))


async def amend_messages(stage: Stage) -> None:
    """React to, edit and delete a message; receive one that the business wrote elsewhere, after its status."""
    ana = Person("44001")
    message = message_from(stage, ana)
    await receive(stage, message)
    for type_ in ("reaction", "edit", "revoke"):
        await receive(stage, message_from(stage, ana, type_, {}, target=message.network_id))
    echo = message_from(stage, ana, from_me=True)
    await receive(stage, StatusUpdate(echo.network_id, "read", stage.clock.now()))
    await receive(stage, echo)
    await receive(stage, message_from(stage, ana, age=3600), message_from(stage, ana, age=9 * 86_400))


async def accept_checked(stage: Stage) -> None:
    """Accept messages that need each check: window, reply, reaction, file, template."""
    now = stage.clock.now()
    template = Template("crowd", "en_US", "UTILITY", [{"type": "BODY", "text": "Hello"}], status="APPROVED")
    await put_template(stage.db, stage.ref, stage.channel_id, template, now, now)
    media_id = await _file(stage)
    message = message_from(stage, Person("4400100"))
    await receive(stage, message)
    id_ = ids.message_id(await _id_of(stage, message))
    caller = msgspec.structs.replace(stage.caller, window=True)
    for request in (
        SendRequest("4400100", "Hello", reply_to=id_),
        SendRequest("4400100", type="reaction", reaction={"message_id": id_, "emoji": "👍"}),
        SendRequest("4400100", type="image", media={"id": media_id}),
        SendRequest("4400200", type="template", template={"name": "crowd", "language": "en_US"}),
    ):
        await stage.acceptor.accept(caller, request)


async def _id_of(stage: Stage, message: Incoming) -> UUID:
    async with stage.db.connection() as conn:
        id_: UUID = await conn.fetchval(
            "SELECT id FROM messages WHERE channel_id = $1 AND network_id = $2 AND id >= $3 AND id < $4",
            stage.channel_id,
            message.network_id,
            *ids.second_of(message.at),
        )
    return id_


async def _file(stage: Stage) -> str:
    media_id = ids.new_id(stage.clock.now())
    async with stage.db.connection() as conn:
        await conn.execute(
            """INSERT INTO media (channel_id, id, state, mime_type, size, created_at)
               VALUES ($1, $2, 'ready', 'image/png', 7, $3)""",
            stage.channel_id,
            media_id,
            stage.clock.now(),
        )
    return ids.format_id("med", media_id)


async def send_to_two_number_forms(stage: Stage, mark: str = "1") -> None:
    """Send to numbers that the network writes in another form: one known in that form, one not."""
    for phone, alias in ((f"490000{mark}1", "44006"), (f"490000{mark}2", f"490000{mark}3")):
        id_ = await stage.accept(phone)
        result = SendResult(id_, 0, State.SENT, f"wamid.{id_.hex}", alias=alias)
        await mark_results(stage.db, stage.lease, stage.ref, [result], stage.clock.now())


async def update_number(stage: Stage, mark: str = "1") -> None:
    """Update the tier, the status and the labels of a number, and the preferences of a person."""
    now, db, channel_id = stage.clock.now(), stage.db, stage.channel_id
    await count_opened(db, channel_id, now - timedelta(days=7), 50)
    await find_open_conversations(db, channel_id, [uuid4() for _ in range(10)], now)
    async with db.transaction() as conn:
        await close_unopened(conn, channel_id, [uuid4() for _ in range(10)])
    await raise_tier(db, stage.ref, stage.lease, 1000, 10_000, now)
    preference = {"person": {"phone": "44007"}, "value": "stop"}
    await receive(
        stage,
        NumberUpdate("x", banned=True),
        NumberUpdate("user_preferences", details={"preferences": [preference]}),
        LabelUpdate(f"N{mark}", "assigned", now, "New", 1, Person("44008")),
        LabelUpdate(f"N{mark}", "removed", now, "New", 1, Person("44008")),
        LabelUpdate(f"N{mark}", "deleted", now),
    )
