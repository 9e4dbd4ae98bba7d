"""Input that no table takes: it stands back alone, and all others of its report and of its batch are kept."""

import asyncio
from typing import Any

import msgspec
import pytest

from gatepost.model.errors import GatepostError
from gatepost.networks.base import (
    ContactUpdate,
    Incoming,
    LabelUpdate,
    NumberUpdate,
    Person,
    RemoteMedia,
    StatusUpdate,
    Update,
)
from tests.inbound.incoming_messages import ANA, BOB, data, message_from, receive, row_of
from tests.outbound.stage import Stage

NUL, LONE, LONG = "a\x00b", "a\ud800b", "x" * 100_000
ENDLESS = "".join(chr(0x4E00 + i * 7919 % 20_000) for i in range(5000))  # too long for an index, however compressed
PLAIN = "5511999990000"


def poisons(stage: Stage) -> dict[str, Update]:
    """What cannot be kept, however often one tries."""
    now = stage.clock.now()
    return {
        "NUL in a name": message_from(stage, Person(PLAIN, name=NUL)),
        "NUL in an id": message_from(stage, ANA, id=NUL),
        "NUL in a type": message_from(stage, ANA, NUL),
        "NUL in a target": message_from(stage, ANA, "revoke", {}, target=NUL),
        "NUL in a content": Incoming("raw", ANA, "text", NUL, now),
        "NUL in a file": message_from(stage, ANA, "image", {}, media=RemoteMedia("h", NUL)),
        "NUL in a file's name": message_from(
            stage, ANA, "image", {}, media=RemoteMedia("h", "image/png", filename=NUL)
        ),
        "NUL in a user id": message_from(stage, Person(user_id=NUL)),
        "NUL in a label": LabelUpdate("L1", "changed", now, NUL, 1),
        "NUL in a quality": NumberUpdate("x", quality=NUL),
        "NUL in a status": StatusUpdate(NUL, "read", now),
        "a lone surrogate in a name": message_from(stage, Person(PLAIN, name=LONE)),
        "a lone surrogate in an id": message_from(stage, ANA, id=LONE),
        "a lone surrogate in a context": message_from(stage, ANA, context={"forwarded": LONE}),
        "a lone surrogate in a content": Incoming("raw", ANA, "text", LONE, now),
        "a lone surrogate in a username": ContactUpdate(Person(PLAIN, username=LONE), now),
        "a lone surrogate in a price": StatusUpdate("x", "read", now, pricing={"category": LONE}),
        "a content that is no JSON": Incoming("raw", ANA, "reaction", "{", now),
        "a content that is no object": Incoming("raw", ANA, "image", "[]", now, media=RemoteMedia("h", "image/png")),
        "an address without end": message_from(stage, Person(user_id=ENDLESS)),
        "an id without end": message_from(stage, ANA, id=ENDLESS),
        "nobody": message_from(stage, Person(name="Nobody")),
    }


KINDS = [
    "NUL in a name", "NUL in an id", "NUL in a type", "NUL in a target", "NUL in a content", "NUL in a file",
    "NUL in a file's name", "NUL in a user id", "NUL in a label", "NUL in a quality", "NUL in a status",
    "a lone surrogate in a name", "a lone surrogate in an id", "a lone surrogate in a context",
    "a lone surrogate in a content", "a lone surrogate in a username", "a lone surrogate in a price",
    "a content that is no JSON", "a content that is no object", "an address without end", "an id without end", "nobody",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
async def test_a_poisoned_update_stands_back_alone(stage: Stage, kind: str) -> None:
    """In the middle of its own report, which the network would otherwise repeat for days."""
    before, after = message_from(stage, ANA), message_from(stage, BOB)
    poison = poisons(stage)[kind]
    await receive(stage, before, poison, after)
    assert await row_of(stage, before)
    assert await row_of(stage, after)
    assert len(await data(stage, "message")) == 2
    await receive(stage, poison)
    await receive(stage, message_from(stage, ANA))
    assert len(await data(stage, "message")) == 3


async def test_all_kinds_are_named(stage: Stage) -> None:
    assert list(poisons(stage)) == KINDS


async def test_every_poison_at_once_spoils_no_neighbour(stage: Stage) -> None:
    good = [message_from(stage, person) for person in (ANA, BOB) * 10]
    reports: list[list[Update]] = [[one] for one in poisons(stage).values()] + [[one] for one in good]
    reports += [[*poisons(stage).values(), good[0]], [good[1], *poisons(stage).values()]]
    await asyncio.gather(*(receive(stage, *report) for report in reports))
    assert {row["network_id"] for row in await stage.rows("messages")} == {one.network_id for one in good}
    assert len(await data(stage, "message")) == 20


async def test_long_words_are_kept_whole(stage: Stage) -> None:
    person = Person(PLAIN, name=LONG, username=LONG)
    update = message_from(stage, person, LONG, {"body": LONG}, context={"referral": {"body": LONG}})
    emoji = message_from(stage, person, "reaction", {"reaction": {"emoji": LONG}}, target=update.network_id)
    await receive(stage, update, emoji)
    row = await row_of(stage, update)
    assert (row["type"], msgspec.json.decode(row["content"])) == (LONG, {"body": LONG})
    assert (await data(stage))[-1]["reaction"]["emoji"] == LONG


async def test_escapes_inside_of_json_do_no_harm(stage: Stage) -> None:
    """JSON is kept as text, in which NUL is written and not there."""
    update = message_from(
        stage, ANA, "flow_reply", {"reply": {"response": {"a": NUL}}}, context={"referral": {"x": NUL}}
    )
    await receive(stage, update)
    (event,) = await data(stage)
    assert event["content"] == {"reply": {"response": {"a": NUL}}}
    assert event["context"] == {"referral": {"x": NUL}}


async def test_an_error_of_the_database_is_no_fault_of_the_update(stage: Stage) -> None:
    """Then the network must get an error, so that it repeats the update."""
    update = message_from(stage, ANA)
    await stage.db.close()
    with pytest.raises(GatepostError) as refused:
        await receive(stage, update, message_from(stage, BOB))
    assert refused.value.code == "database_unavailable"


async def test_a_place_that_is_missing_is_no_fault_of_the_update(stage: Stage) -> None:
    """Without a partition nothing can be kept; the update is good, and comes again."""
    stage.clock.advance(300 * 86_400)
    update: Any = message_from(stage, ANA)
    with pytest.raises(Exception, match="partition"):
        await receive(stage, update)
