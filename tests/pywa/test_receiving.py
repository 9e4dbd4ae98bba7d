"""pywa receives everything people can send, parsed by its own types."""

import base64
from queue import Queue
from typing import Any

import pytest
from pywa import handlers
from pywa.types.callback import Button, CallbackButton, CallbackSelection
from pywa.types.message import DeletedMessage, Message
from pywa.types.user_preferences import UserMarketingPreferences

from tests.patience import PATIENCE

from .stage import PERSON, Stage

PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)
HANDLERS = (
    handlers.MessageHandler,
    handlers.CallbackButtonHandler,
    handlers.CallbackSelectionHandler,
    handlers.FlowCompletionHandler,
    handlers.PhoneNumberChangeHandler,
    handlers.IdentityChangeHandler,
    handlers.UserMarketingPreferencesHandler,
    handlers.EditedMessageHandler,
    handlers.DeletedMessageHandler,
    handlers.OutgoingMessageHandler,
)


@pytest.fixture
def received(stage: Stage) -> Queue[Any]:
    updates: Queue[Any] = Queue()
    stage.wa.add_handlers(*(handler(lambda _, update: updates.put(update)) for handler in HANDLERS))
    return updates


def test_a_text_with_its_sender(stage: Stage, received: Queue[Any]) -> None:
    wamid = stage.incoming("text", {"body": "Grüße 👋"}, name="Ana")
    message = received.get(timeout=PATIENCE)
    assert isinstance(message, Message)
    assert (message.id, message.text, message.from_user.name) == (wamid, "Grüße 👋", "Ana")
    assert (message.from_user.wa_id, message.from_user.country_code) == (PERSON, "US")


def test_a_reply_that_pywa_answers(stage: Stage, received: Queue[Any]) -> None:
    sent = stage.wa.send_message(PERSON, "Well?")
    stage.incoming("text", {"body": "Yes"}, reply_to=sent.id)
    message = received.get(timeout=PATIENCE)
    assert message.reply_to_message.id == sent.id
    answer = message.reply("Thanks", quote=True)
    assert message.mark_as_read()
    row = stage.accepted()[-1]
    assert (row["wamid"], row["to"], row["context"]) == (answer.id, PERSON, message.id)


@pytest.mark.parametrize("kind", ["image", "video", "audio", "voice", "document", "sticker"])
def test_files_are_parsed_and_downloaded(stage: Stage, received: Queue[Any], kind: str) -> None:
    content = {"content": base64.b64encode(PNG).decode()}
    stage.incoming(kind, content | ({"caption": "Look"} if kind in ("image", "video", "document") else {}))
    message = received.get(timeout=PATIENCE)
    media = message.media
    assert message.type == ("audio" if kind == "voice" else kind)
    assert media.get_bytes() == PNG
    assert stage.wa.get_media_bytes(stage.wa.get_media_url(media.id).url) == PNG
    assert (message.voice is not None) == (kind == "voice")
    if kind in ("image", "video", "document"):
        assert message.caption == "Look"


def test_a_place(stage: Stage, received: Queue[Any]) -> None:
    stage.incoming("location", {"latitude": 37.4, "longitude": -122.1, "name": "Here", "address": "Road 1"})
    place = received.get(timeout=PATIENCE).location
    assert (place.latitude, place.longitude, place.name) == (37.4, -122.1, "Here")


def test_contact_cards(stage: Stage, received: Queue[Any]) -> None:
    card = {"name": {"formatted_name": "Ana Silva", "first_name": "Ana"}, "phones": [{"phone": "+55", "wa_id": PERSON}]}
    stage.incoming("contacts", [card])
    [contact] = received.get(timeout=PATIENCE).contacts
    assert (contact.name.formatted_name, contact.phones[0].wa_id) == ("Ana Silva", PERSON)


@pytest.mark.parametrize("emoji", ["👍", ""])
def test_a_reaction_and_its_removal(stage: Stage, received: Queue[Any], emoji: str) -> None:
    sent = stage.wa.send_message(PERSON, "Well?")
    stage.incoming("reaction", {"message_id": sent.id, "emoji": emoji})
    reaction = received.get(timeout=PATIENCE).reaction
    assert (reaction.message_id, reaction.emoji or "") == (sent.id, emoji)


def test_a_button_a_row_and_a_quick_reply(stage: Stage, received: Queue[Any]) -> None:
    sent = stage.wa.send_message(PERSON, "Well?", buttons=[Button("Yes", callback_data="y")])
    stage.incoming("button_reply", {"id": "y", "title": "Yes"}, reply_to=sent.id)
    button = received.get(timeout=PATIENCE)
    assert isinstance(button, CallbackButton)
    assert (button.data, button.title) == ("y", "Yes")
    stage.incoming("list_reply", {"id": "a", "title": "A", "description": "x"}, reply_to=sent.id)
    row = received.get(timeout=PATIENCE)
    assert isinstance(row, CallbackSelection)
    assert (row.data, row.title, row.description) == ("a", "A", "x")
    stage.incoming("button", {"payload": "stop", "text": "Stop"}, reply_to=sent.id)
    quick = received.get(timeout=PATIENCE)
    assert isinstance(quick, CallbackButton)
    assert (quick.data, quick.title) == ("stop", "Stop")


def test_a_form_that_was_filled_in(stage: Stage, received: Queue[Any]) -> None:
    sent = stage.wa.send_message(PERSON, "Well?")
    stage.incoming("nfm_reply", {"response_json": {"flow_token": "t", "size": "L"}}, reply_to=sent.id)
    form = received.get(timeout=PATIENCE)
    assert (form.token, form.response["size"]) == ("t", "L")


def test_an_order(stage: Stage, received: Queue[Any]) -> None:
    item = {"product_retailer_id": "SKU1", "quantity": 2, "item_price": 7.99, "currency": "USD"}
    stage.incoming("order", {"catalog_id": "194", "text": "Please", "product_items": [item]})
    order = received.get(timeout=PATIENCE).order
    assert (order.catalog_id, order.text, order.products[0].sku, order.products[0].quantity) == (
        "194",
        "Please",
        "SKU1",
        2,
    )


def test_a_message_that_came_by_an_ad(stage: Stage, received: Queue[Any]) -> None:
    ad = {"source_url": "https://fb.me/1", "source_id": "1", "source_type": "ad", "headline": "Sale", "body": "Now"}
    stage.incoming("text", {"body": "hi"}, referral={**ad, "media_type": "image", "ctwa_clid": "abc"})
    assert received.get(timeout=PATIENCE).referral.source_id == "1"


def test_a_forwarded_message(stage: Stage, received: Queue[Any]) -> None:
    stage.incoming("text", {"body": "hi"}, context={"frequently_forwarded": True})
    assert received.get(timeout=PATIENCE).forwarded_many_times


def test_something_unsupported(stage: Stage, received: Queue[Any]) -> None:
    stage.incoming("unsupported", {"type": "poll"})
    message = received.get(timeout=PATIENCE)
    assert (message.type, message.unsupported.type, message.error.code) == ("unsupported", "poll", 131051)


def test_a_new_number_and_a_new_identity(stage: Stage, received: Queue[Any]) -> None:
    stage.incoming("system", {"type": "user_changed_number", "wa_id": "5511999991111"})
    change = received.get(timeout=PATIENCE)
    assert (change.old_wa_id, change.new_wa_id) == (PERSON, "5511999991111")
    stage.incoming("system", {"type": "customer_identity_changed"}, identity_key_hash="abc=")
    assert received.get(timeout=PATIENCE).identity.hash == "abc="


def test_edits_and_deletions(stage: Stage, received: Queue[Any]) -> None:
    wamid = stage.incoming("text", {"body": "helo"})
    received.get(timeout=PATIENCE)
    new = {"type": "text", "text": {"body": "hello"}}
    stage.incoming("edit", {"original_message_id": wamid, "message": new})
    edited = received.get(timeout=PATIENCE)
    assert (edited.original_message_id, edited.message.text) == (wamid, "hello")
    stage.incoming("revoke", {"original_message_id": wamid})
    assert isinstance(received.get(timeout=PATIENCE), DeletedMessage)


def test_somebody_stops_marketing(stage: Stage, received: Queue[Any]) -> None:
    stage.incoming("user_preferences", {"value": "stop"})
    option = received.get(timeout=PATIENCE)
    assert isinstance(option, UserMarketingPreferences)
    assert not option


def test_what_was_sent_from_the_phone(stage: Stage, received: Queue[Any]) -> None:
    stage.incoming("echo", {"type": "text", "text": {"body": "from my phone"}})
    assert received.get(timeout=PATIENCE).text == "from my phone"


def test_a_stranger_is_answered_by_user_id(stage: Stage, received: Queue[Any]) -> None:
    stage.incoming("text", {"body": "hi"})
    message = received.get(timeout=PATIENCE)
    stage.wa.send_message(message.from_user.bsuid, "Hello")
    assert stage.accepted()[-1]["to"] == PERSON
