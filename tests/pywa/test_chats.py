"""The phone with pywa alone: no gateway is involved."""

import json
from queue import Queue
from typing import Any

import httpx
from pywa.handlers import MessageHandler
from pywa.types.callback import Button

from tests.patience import PATIENCE

from .stage import NUMBER, PERSON, Stage

CHAT = f"chats/{PERSON}/{NUMBER}"


def read_feed(stage: Stage) -> httpx.Response:
    """Open the feed; the connection ends with the response."""
    request = stage.control_client.build_request("GET", "feed", timeout=PATIENCE)
    return stage.control_client.send(request, stream=True)


def test_a_message_arrives_and_its_reply_too(stage: Stage) -> None:
    received: Queue[Any] = Queue()
    stage.wa.add_handlers(MessageHandler(lambda _, message: received.put(message)))
    feed = read_feed(stage)
    try:
        lines = feed.iter_lines()
        assert next(lines) == "event: ready"
        sent = stage.wa.send_message(PERSON, "Coffee?", buttons=[Button("Yes", "yes"), Button("No", "no")])
        stage.advance(2)
        while next(lines) != "event: message":
            continue
        pushed = json.loads(next(lines).removeprefix("data: "))
        assert (pushed["message"]["id"], pushed["message"]["view"]["text"]) == (sent.id, "Coffee?")
    finally:
        feed.close()

    [message] = stage.control("GET", CHAT)["messages"]
    assert [button["id"] for button in message["view"]["buttons"]] == ["yes", "no"]
    stage.control("POST", f"{CHAT}/send", {"type": "text", "text": "With milk", "quote": sent.id})
    came = received.get(timeout=PATIENCE)
    assert (came.text, came.from_user.wa_id, came.reply_to_message.id) == ("With milk", PERSON, sent.id)
    came.mark_as_read()
    assert stage.control("GET", CHAT)["messages"][-1]["status"] == "read"
