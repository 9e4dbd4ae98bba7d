"""Every type out: accepted, taken by the network once and as it was meant, delivered, read, played."""

from typing import Any

import pytest

from tests.conformance.line import Line, Taken, new_person, until
from tests.conformance.samples import AS_TEXT, FILE_SENDS, FILES, PLAIN
from tests.conftest import Answer, Receiver, serve_app

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def arrives(line: Line, person: str, type_: str, last: str = "READ", **fields: Any) -> Taken:
    """Sends, waits for the last status, checks every step on the way, and returns what the network has."""
    message_id = await line.send(person, type=type_, **fields)
    message = await line.until_status(message_id, last)
    steps = ["SENT", "DELIVERED", "READ", "PLAYED"]
    assert await line.acks(message_id) == steps[: steps.index(last) + 1]
    taken = await line.taken_once(message_id)
    assert (taken.to, message["network_id"]) == (person, taken.network_id)
    assert message["type"] == type_
    return taken


@pytest.mark.parametrize("type_", PLAIN)
async def test_plain_types(line: Line, type_: str) -> None:
    can, person, fields = await line.capabilities(), new_person(), PLAIN[type_]
    if type_ in can["types"]:
        if type_ == "template":
            assert (await line.call("POST", "/templates/sync")).status == 200
        taken = await arrives(line, person, type_, **fields)
        assert (taken.type, taken.content) == (type_, line.shown(fields))
        return
    refused = await line.call("POST", "/message/send", {"phone": person, "type": type_, **fields})
    assert (refused.status, refused.json()["error"]["code"]) == (422, "unsupported_on_channel")
    if type_ in can["fallback_to_text"]:
        taken = await arrives(line, person, type_, **fields, fallback="text")
        assert (taken.type, taken.content) == ("text", {"body": AS_TEXT[type_]})


@pytest.mark.parametrize("kind", FILE_SENDS)
async def test_files_by_id(line: Line, kind: str) -> None:
    type_, fields = FILE_SENDS[kind]
    media_id = await line.upload(FILES[kind])
    last = "PLAYED" if kind == "voice" else "READ"
    taken = await arrives(line, new_person(), type_, last, media={"id": media_id}, **fields)
    assert (taken.type, taken.content) == (type_, {"media": FILES[kind].content, **fields})


@pytest.mark.parametrize("kind", ["image", "document"])
async def test_files_by_link(line: Line, kind: str) -> None:
    type_, fields = FILE_SENDS[kind]
    shop = Receiver()
    shop.answer = Answer(headers={"content-type": FILES[kind].mime_type}, body=FILES[kind].content)
    async with serve_app(shop) as url:
        taken = await arrives(line, new_person(), type_, media={"link": f"{url}/file"}, **fields)
    assert (taken.type, taken.content) == (type_, {"media": FILES[kind].content, **fields})


async def test_a_file_is_handed_over_once(line: Line) -> None:
    media = {"id": await line.upload(FILES["image"])}
    sent = [await line.send(new_person(), type="image", media=media) for _ in range(3)]
    for message_id in sent:
        await line.until_status(message_id, "READ")
    names = [str(taken.content["media"]) for taken in await line.taken() if taken.id in sent]
    assert len(names) == 3
    assert len(set(names)) == 1


async def test_a_reaction_and_its_removal(line: Line) -> None:
    person = new_person()
    received = await line.say(person, "text", {"body": "We have won"})
    (event,) = await line.received(person, 1)
    for emoji in ("👍", ""):
        about = {"message_id": event["data"]["key"]["id"], "emoji": emoji}
        taken = await arrives(line, person, "reaction", "SENT", reaction=about)
        assert (taken.content, taken.target) == ({"reaction": {"emoji": emoji}}, received)


async def test_an_answer_quotes_what_it_answers(line: Line) -> None:
    person = new_person()
    received = await line.say(person, "text", {"body": "Is it open?"})
    (event,) = await line.received(person, 1)
    taken = await arrives(line, person, "text", body="Yes", reply_to=event["data"]["key"]["id"])
    assert taken.reply_to == received
    ours = await arrives(line, person, "text", body="Until six", reply_to=taken.id)
    assert ours.reply_to == taken.network_id


async def test_a_message_is_marked_as_read(line: Line) -> None:
    person = new_person()
    received = await line.say(person, "text", {"body": "Hello?"})
    (event,) = await line.received(person, 1)
    assert (await line.call("POST", f"/messages/{event['data']['key']['id']}/read")).status == 200

    async def look() -> bool:
        return received in await line.reads()

    assert await until(look)


async def test_webhooks_deliver_what_the_feed_contains(line: Line) -> None:
    customer, person = Receiver(), new_person()
    async with serve_app(customer) as url:
        made = (await line.call("POST", "/webhooks", {"url": f"{url}/hook"})).json()["data"]
        await line.until_status(await line.send(person, body="Hello"), "READ")
        await line.say(person, "text", {"body": "Hi"})
        await line.received(person, 1)
        fed = await line.events(person)
        seen = [request.json() for request in await customer.wait_for(len(fed))]
        assert sorted(seen, key=lambda event: event["sequence"]) == fed
        assert (await line.call("DELETE", f"/webhooks/{made['id']}")).status in (200, 204)
