"""A conversation around one of its messages, read on in both directions."""

from typing import Any

from gatepost.api.paging import show_cursor
from gatepost.model import ids
from gatepost.model.dates import LAST_ID
from gatepost.services.history import ConversationPosition
from tests.gateway.checks import PERSON, check_refused
from tests.running_gateway import Gateway

MESSAGES = "/api/v1/messages"
OTHER = "5511900000099"


async def conversation(gateway: Gateway, count: int) -> list[str]:
    """Send messages to two people in turn; return the ids of the first one's, the oldest first."""
    sent = []
    for number in range(count):
        sent.append(await gateway.send(phone=PERSON, body=f"Message {number}"))
        await gateway.send(phone=OTHER, body="Other")
    return sent


async def part(gateway: Gateway, query: str) -> tuple[list[str], Any]:
    answer = await gateway.call("GET", f"{MESSAGES}?{query}")
    assert answer.status == 200, answer.body
    body = answer.json()
    return [message["key"]["id"] for message in body["data"]], body["paging"]


async def test_a_message_with_its_neighbours(gateway: Gateway) -> None:
    sent = await conversation(gateway, 9)
    newest_first = sent[::-1]
    for place, limit, expected in (
        (4, 5, newest_first[2:7]),
        (4, 4, newest_first[2:6]),
        (4, 1, [sent[4]]),
        (0, 4, newest_first[6:]),
        (8, 4, newest_first[:4]),
        (4, 100, newest_first),
    ):
        found, paging = await part(gateway, f"around={sent[place]}&limit={limit}")
        assert found == expected, (place, limit)
        assert (paging["previous"] is None) == (found[0] == sent[-1]), (place, limit)


async def test_reading_on_in_both_directions(gateway: Gateway) -> None:
    sent = await conversation(gateway, 9)
    found, paging = await part(gateway, f"around={sent[4]}&limit=3")
    older, newer = paging["next"], paging["previous"]
    while older is not None:
        more, paging = await part(gateway, f"cursor={older}&limit=2")
        assert (paging["previous"] is not None) == bool(more)
        found, older = found + more, paging["next"]
    while newer is not None:
        more, paging = await part(gateway, f"cursor={newer}&limit=2")
        found, newer = more + found, paging["previous"]
    assert found == sent[::-1]
    back, _ = await part(gateway, f"cursor={paging['next']}&limit=1")
    assert back == [found[found.index(more[-1]) + 1]], "the page of newer messages continues where it began"
    latest = await gateway.send(phone=PERSON, body="New")
    found, paging = await part(gateway, f"around={sent[8]}&limit=1")
    assert (found, paging["previous"] is not None) == ([sent[8]], True)
    assert (await part(gateway, f"cursor={paging['previous']}"))[0] == [latest]


async def test_what_is_refused(gateway: Gateway) -> None:
    (sent,) = await conversation(gateway, 1)
    for query in (f"phone={PERSON}", "q=hello", "direction=in", "from=2026-01-01"):
        answer = await gateway.call("GET", f"{MESSAGES}?around={sent}&{query}")
        check_refused(answer, 422, "invalid_field", "around", query)
    for unknown in ("x", ids.message_id(ids.ZERO)):
        check_refused(await gateway.call("GET", f"{MESSAGES}?around={unknown}"), 404, "not_found")
    latest = await gateway.send(phone=PERSON, body="New")
    _, paging = await part(gateway, f"around={latest}&limit=1")
    answer = await gateway.call("GET", f"{MESSAGES}?cursor={paging['next']}&direction=in")
    check_refused(answer, 422, "invalid_field", "direction")
    check_refused(await gateway.call("GET", f"{MESSAGES}?cursor=WzFd"), 400, "invalid_cursor")
    _, plain = await part(gateway, "limit=1")
    assert "previous" not in plain
    for newer in (True, False):
        for end in (ids.ZERO, LAST_ID):
            cursor = show_cursor(ConversationPosition(ids.ZERO, end, newer))
            assert (await part(gateway, f"cursor={cursor}"))[0] == []
