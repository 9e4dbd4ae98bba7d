"""The plans of what a batch asks about templates, and of the newest message of a conversation: by the keys alone."""

from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg

from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.model.network_update import TemplateUpdate
from gatepost.store.channel_head import ChannelHead, ChannelTransaction, EventBuffer
from gatepost.store.conversations.changes import find_last_incoming
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from gatepost.store.templates import apply_template_reports, find_templates
from tests.outbound.stage import NOW
from tests.store.query_plans import Explained, Plan, fill

CHANNEL, CONTACT = UUID(int=1), UUID(int=2)
REF = ChannelRef("ch_1", "official", "15550001111")


async def fill_database(url: str) -> None:
    """Thousands of templates and messages, and one conversation that is looked at."""
    plain = await Database.connect(url, connections=1)
    await make_partitions(plain, NOW - timedelta(days=70), 7)
    await make_partitions(plain, NOW, 7)
    await plain.close()
    await fill(url, CHANNEL, uuid4(), count=2_000, start=NOW - timedelta(days=70), end=NOW, salt="past")
    conn = await asyncpg.connect(url)
    await conn.execute(
        """INSERT INTO templates (channel_id, id, network_id, name, language, category, status, quality,
                                  parameter_format, components, created_at, updated_at)
           SELECT $1, gen_random_uuid(), i, 'name_' || i, 'en_US', 'UTILITY', 'APPROVED', 'GREEN', 'POSITIONAL', '[]',
                  $2, $2 FROM generate_series(1, 3000) i""",
        CHANNEL,
        NOW,
    )
    await conn.execute(
        "INSERT INTO conversations (channel_id, contact_id, created_at) VALUES ($1, $2, $3)", CHANNEL, CONTACT, NOW
    )
    await add_messages(conn)
    await conn.close()


async def add_messages(conn: "asyncpg.Connection[asyncpg.Record]") -> None:
    """One from the person, ten days ago; one too old to count; and one of ours since."""
    for days, incoming in ((40, True), (10, True), (1, False)):
        await conn.execute(
            """INSERT INTO messages (channel_id, id, contact_id, incoming, bulk, state, phone, type, content,
                                     network_id, created_at, event_ids)
               VALUES ($1, $2, $3, $4, false, 10, '5511999998888', 'text', '{}', $5, $6, '{}')""",
            CHANNEL,
            ids.new_id(NOW - timedelta(days=days)),
            CONTACT,
            incoming,
            f"wamid.{days}",
            NOW,
        )


def rows_of(plan: Plan, table: str) -> int:
    """How many rows of a table a statement has looked at."""
    nodes = [node for node in plan.nodes() if node.get("Relation Name", "").startswith(table)]
    return int(sum((n["Actual Rows"] + n.get("Rows Removed by Filter", 0)) * n["Actual Loops"] for n in nodes))


async def test_templates_of_a_batch(explained: Explained) -> None:
    db, plans = explained
    keys = [(f"name_{number}", "en_US") for number in range(1, 51)]
    async with db.connection() as conn:
        assert len(await find_templates(conn, CHANNEL, [*keys, ("name_1", "pt_BR")])) == 50
    (plan,) = plans
    assert 45 <= rows_of(plan, "templates") <= 50  # averages are rounded


async def test_updates_of_templates(explained: Explained) -> None:
    db, plans = explained
    news = [TemplateUpdate(str(number), f"name_{number}", "en_US", status="PAUSED") for number in range(1, 11)]
    head = ChannelHead(CHANNEL, 1, 0, ids.ZERO, ids.ZERO)
    async with db.transaction() as conn:
        transaction = ChannelTransaction(conn, head, REF, EventBuffer(head, NOW), NOW)
        assert await apply_template_reports(transaction, news) == []
    assert sum(rows_of(plan, "templates") for plan in plans) <= 30


async def test_the_newest_message_of_a_conversation(explained: Explained) -> None:
    db, plans = explained
    received = await find_last_incoming(db, CHANNEL, CONTACT, NOW - timedelta(days=30))
    assert received is not None
    assert (received.network_id, received.address) == ("wamid.10", "5511999998888")
    (plan,) = plans
    assert plan.seq_scans() == []
    assert rows_of(plan, "messages") <= 3
    assert len(plan.touched("messages")) <= 8
