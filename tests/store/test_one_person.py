"""Whatever the network calls people, in whatever order their names become known: each ends as one contact."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gatepost.model import ids
from gatepost.model.person import Identity, Person, addresses, identities
from gatepost.networks.base import ContactUpdate, LabelUpdate, Update
from gatepost.store.pool import Database
from tests.inbound.incoming_messages import message_from, read_aliases, read_events, receive
from tests.outbound.stage import Stage, make_stage

TRUE = [
    Person("551100000000", "700", "US.a"),
    Person("551100000001", "701", "US.b"),
    Person("551100000002", "702", "US.c"),
]


class Deed(msgspec.Struct, frozen=True):
    """Something that happens with one person, by some of their names."""

    kind: str
    who: int
    by: frozenset[str]
    name: str | None

    def person(self) -> Person:
        known = {field: getattr(TRUE[self.who], field) for field in self.by}
        return Person(**known, name=self.name)


fields = st.frozensets(st.sampled_from(["phone", "lid", "user_id"]), min_size=1)
deeds = st.builds(
    Deed,
    st.sampled_from(["text", "text", "order", "label", "contact", "accept", "open", "cut", "cut"]),
    st.integers(0, 2),
    fields,
    st.sampled_from([None, "A", "B"]),
)
LINKS = [
    *(Deed("text", who, frozenset({"phone", "lid"}), None) for who in range(3)),
    *(Deed("text", who, frozenset({"lid", "user_id"}), None) for who in range(3)),
]
links = st.permutations(LINKS)


class World:
    """What truly happened, to hold the tables against."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.batch: list[Update] = []
        self.writers: dict[str, int] = {}  # network id → who
        self.accepted: dict[UUID, int] = {}
        self.last_in: dict[int, datetime] = {}
        self.opened: dict[int, datetime] = {}
        self.labelled: set[int] = set()
        self.ordered: dict[int, int] = {}

    async def live(self, done: list[Deed]) -> None:
        for deed in done:
            self.stage.clock.advance(1)
            await self.do(deed)
        await self.flush()

    async def flush(self) -> None:
        await receive(self.stage, *self.batch)
        self.batch = []

    async def do(self, deed: Deed) -> None:
        match deed.kind:
            case "cut":
                await self.flush()
            case "accept":
                self.accepted[await self.stage.accept(TRUE[deed.who].phone or "")] = deed.who
            case "open":
                await self.open(deed)
            case "label":
                self.labelled.add(deed.who)
                self.batch.append(LabelUpdate("L1", "assigned", self.stage.clock.now(), "VIP", 1, deed.person()))
            case "contact":
                self.batch.append(ContactUpdate(deed.person(), self.stage.clock.now()))
            case _:
                self.say(deed)

    def say(self, deed: Deed) -> None:
        content: Any = {"order": {"items": []}} if deed.kind == "order" else None
        update = message_from(self.stage, deed.person(), deed.kind, content)
        self.ordered[deed.who] = self.ordered.get(deed.who, 0) + (deed.kind == "order")
        self.writers[update.network_id] = deed.who
        self.last_in[deed.who] = update.at
        self.batch.append(update)

    async def open(self, deed: Deed) -> None:
        """The business opens a conversation with whomever it knows by one of these names."""
        async with self.stage.db.connection() as conn:
            done = await conn.fetch(
                """UPDATE conversations v SET opened_at = $3 WHERE channel_id = $1 AND contact_id IN (
                       SELECT id FROM contacts WHERE channel_id = $1 AND phone = ANY ($2)) RETURNING 1""",
                self.stage.channel_id,
                list(addresses(deed.person())),
                self.stage.clock.now(),
            )
        if done:
            self.opened[deed.who] = self.stage.clock.now()

    # -- what must hold in the end -------------------------------------------------------------------------------------

    async def check(self) -> None:
        contacts = {row["phone"]: row["id"] for row in await self.stage.rows("contacts")}
        assert contacts.keys() == {person.phone for person in TRUE}
        assert await read_aliases(self.stage) == {addresses(p)[0]: set(addresses(p)[1:]) for p in TRUE}
        of = [contacts[person.phone or ""] for person in TRUE]
        await self.check_history(of)
        await self.check_conversations(of)
        assert await self.counts("orders") == {of[who]: n for who, n in self.ordered.items() if n}
        assert await self.counts("label_uses") == {of[who]: 1 for who in self.labelled}
        await self.check_events(set(of))

    async def counts(self, table: str) -> dict[UUID, int]:
        found: dict[UUID, int] = {}
        for row in await self.stage.rows(table):
            found[row["contact_id"]] = found.get(row["contact_id"], 0) + 1
        return found

    async def check_history(self, of: list[UUID]) -> None:
        rows = await self.stage.rows("messages")
        theirs = {row["network_id"]: row["contact_id"] for row in rows if row["incoming"]}
        ours = {row["id"]: row["contact_id"] for row in rows if not row["incoming"]}
        assert theirs == {network_id: of[who] for network_id, who in self.writers.items()}
        assert ours == {id_: of[who] for id_, who in self.accepted.items()}

    async def check_conversations(self, of: list[UUID]) -> None:
        rows = {row["contact_id"]: row for row in await self.stage.rows("conversations")}
        assert rows.keys() == set(of)
        for who, contact_id in enumerate(of):
            assert rows[contact_id]["last_in_at"] == self.last_in.get(who)
            assert rows[contact_id]["opened_at"] == self.opened.get(who)

    async def check_events(self, left: set[UUID]) -> None:
        """A reader of the events knows each contact at any time, and gets each change once."""
        known: dict[str, tuple[Any, Any]] = {}
        gone: list[str] = []
        for event in await read_events(self.stage):
            shown = event["data"] if event["type"].startswith("contact") else event["data"].get("contact")
            if not shown:
                continue
            now = (shown["phone"], shown["name"])
            before = known.get(shown["id"], now)
            assert shown["id"] not in gone
            if shown is event["data"]:
                changed, joined = shown["changed"], shown["joined"]
                assert ("history" in changed) == bool(joined)
                assert [f for f in ("phone", "name") if f in changed] == differing(before, now) or shown[
                    "id"
                ] not in known
                assert changed
                gone += joined
            else:
                assert now == before
            known[shown["id"]] = now
        assert len(gone) == len(set(gone))
        assert known.keys() - set(gone) <= {ids.format_id("ct", id_) for id_ in left}


def differing(before: tuple[Any, Any], now: tuple[Any, Any]) -> list[str]:
    return [field for field, a, b in zip(("phone", "name"), before, now, strict=True) if a != b]


NAMED_BACK = [  # within one batch
    Deed("text", 1, frozenset({"phone", "lid"}), "A"),
    Deed("cut", 0, frozenset({"phone"}), None),
    Deed("text", 1, frozenset({"phone"}), "B"),
    Deed("text", 1, frozenset({"lid"}), "A"),
]


@example(
    done=NAMED_BACK,
    linking=[
        Deed("text", who, by, None)
        for who in range(3)
        for by in (frozenset({"phone", "lid"}), frozenset({"lid", "user_id"}))
    ],
    at_once=False,
)
@given(done=st.lists(deeds, max_size=25), linking=links, at_once=st.booleans())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_every_true_person_ends_as_one_contact(
    db: Database, done: list[Deed], linking: list[Deed], at_once: bool
) -> None:
    world = World(await make_stage(db))
    await world.live(done)
    for link in linking:
        await world.live([link] if at_once else [link, Deed("cut", 0, link.by, None)])
    await world.check()


@given(st.lists(st.builds(Person, *([st.sampled_from([None, "1", "2", "3"])] * 3)).filter(addresses), max_size=12))
def test_people_who_share_an_address_are_one_person(persons: list[Person]) -> None:
    found = identities(persons)
    everything = [address for circle in found for address in circle.addresses]
    assert sorted(everything) == sorted({address for person in persons for address in addresses(person)})
    for person in persons:
        (home,) = [circle for circle in found if addresses(person)[0] in circle.addresses]
        assert set(addresses(person)) <= set(home.addresses)
    assert all(connected(circle, persons) for circle in found)


def connected(circle: Identity, persons: list[Person]) -> bool:
    reached = {circle.addresses[0]}
    for _ in persons:
        for person in persons:
            if reached & set(addresses(person)):
                reached |= set(addresses(person))
    return reached == set(circle.addresses)
