"""Events are kept until they are acknowledged, and come again in order."""

from tests.sandbox.driver import Driver

from .conftest import Dial
from .peer import ANA, BEN, PHONE, Peer, S


async def say(driver: Driver, text: str) -> None:
    await driver.control("POST", f"phones/{PHONE}/incoming", {"from": {"phone": ANA}, "content": {"body": text}})


async def received(peer: Peer) -> list[tuple[int, str]]:
    return [(event["seq"], event["content"]["body"]) for event in await peer.take_numbered()]


async def test_what_was_not_acknowledged_comes_again(empty: Driver, linked: Peer, dial: Dial) -> None:
    for text in ("one", "two", "three"):
        await say(empty, text)
    assert await received(linked) == [(1, "one"), (2, "two"), (3, "three")]
    await linked.ack(1)
    await linked.settle()
    await linked.socket.close()
    again = await dial()
    await again.open()
    assert await received(again) == [(2, "two"), (3, "three")]
    await again.ack(3)
    await again.settle()
    await again.socket.close()
    last = await dial()
    await last.open()
    assert await received(last) == []
    await say(empty, "four")
    assert await received(last) == [(4, "four")]


async def test_what_happens_while_nobody_is_there_is_kept(empty: Driver, linked: Peer, dial: Dial) -> None:
    await linked.send()
    await linked.socket.close()
    await empty.advance(10)
    await say(empty, "still there?")
    again = await dial()
    await again.open()
    events = await again.take()
    assert [event.get("state") or event.get("status") or event["type"] for event in events] == [
        "connecting",
        "connected",
        "sent",
        "delivered",
        "read",
        "text",
    ]
    assert [event["seq"] for event in events if "seq" in event] == [1, 2, 3, 4]


async def test_after_a_lost_connection_on_the_same_link(empty: Driver, linked: Peer) -> None:
    await say(empty, "one")
    assert await received(linked) == [(1, "one")]
    await empty.control("POST", f"phones/{PHONE}/drop", {"seconds": 5})
    await say(empty, "two")
    assert await received(linked) == []
    await empty.advance(5)
    assert await received(linked) == [(1, "one"), (2, "two")]


async def test_a_lock_that_comes_and_goes_repeats_nothing(empty: Driver, linked: Peer) -> None:
    await say(empty, "one")
    assert await received(linked) == [(1, "one")]
    await empty.control("POST", f"phones/{PHONE}/lock", {"seconds": 10})
    await say(empty, "two")
    assert await received(linked) == [(2, "two")]
    await empty.advance(10)
    await linked.open()
    assert await received(linked) == []


async def test_an_ack_beyond_the_end_forgets_what_there_is(empty: Driver, linked: Peer) -> None:
    await say(empty, "one")
    await linked.ack(99)
    await linked.settle()
    [session] = await empty.control("GET", "sessions")
    assert (session["waiting"], session["last_seq"]) == (0, 1)
    await say(empty, "two")
    assert (await received(linked))[-1] == (2, "two")


async def test_an_ack_for_a_session_of_another_link_counts_for_nothing(empty: Driver, linked: Peer, dial: Dial) -> None:
    await say(empty, "one")
    other = await dial()
    await other.ack(1)
    await other.settle()
    [session] = await empty.control("GET", "sessions")
    assert session["waiting"] == 1


async def test_another_phone_does_not_inherit_the_events(empty: Driver, linked: Peer) -> None:
    await say(empty, "one")
    await linked.ask("logout")
    await linked.open()
    await linked.take()
    await empty.control("POST", f"phones/{BEN}/scan", {"session": S})
    await empty.advance(0.5)
    assert await received(linked) == []


async def test_the_same_phone_linked_again_still_gets_its_events(empty: Driver, linked: Peer) -> None:
    await say(empty, "one")
    assert await received(linked) == [(1, "one")]
    await linked.ask("logout")
    await linked.open()
    await empty.control("POST", f"phones/{PHONE}/scan", {"session": S})
    await empty.advance(0.5)
    assert await received(linked) == [(1, "one")]
