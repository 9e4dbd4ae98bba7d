"""pywa sends every kind of message it knows, by id and by link, and the network takes it as it was meant."""

from collections.abc import Callable
from typing import Any

import pytest
from pywa.client import WhatsApp
from pywa.errors import WhatsAppError
from pywa.types.callback import Button, Section, SectionList, SectionRow, URLButton
from pywa.types.others import Contact, ProductsSection
from pywa.types.templates import TemplateLanguage

from .stage import NUMBER, PERSON, Stage

LINK = "https://example.com/file"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)
OGG = b"OggS" + bytes(32)
CATALOG = "194836987003835"

Sending = Callable[[WhatsApp], Any]

PLAIN: dict[str, tuple[str, Sending]] = {
    "text": ("text", lambda wa: wa.send_message(PERSON, "Hello", preview_url=True)),
    "location": ("location", lambda wa: wa.send_location(PERSON, 37.4, -122.1, name="Here", address="Road 1")),
    "contact": (
        "contacts",
        lambda wa: wa.send_contact(
            PERSON,
            Contact(
                name=Contact.Name(formatted_name="Ana Silva", first_name="Ana"),
                phones=[Contact.Phone(phone=PERSON, wa_id=PERSON)],
            ),
        ),
    ),
    "location request": ("interactive", lambda wa: wa.request_location(PERSON, "Where are you?")),
    "catalog": ("interactive", lambda wa: wa.send_catalog(PERSON, "Look", footer="Bye", thumbnail_product_sku="SKU1")),
    "product": ("interactive", lambda wa: wa.send_product(PERSON, CATALOG, "SKU1", body="Nice")),
    "products": (
        "interactive",
        lambda wa: wa.send_products(
            PERSON, CATALOG, [ProductsSection(title="All", skus=["SKU1", "SKU2"])], title="Shop", body="Look"
        ),
    ),
    "template": ("template", lambda wa: wa.send_template(PERSON, "hello_world", TemplateLanguage.ENGLISH_US)),
}


@pytest.mark.parametrize("name", PLAIN)
def test_messages_without_files(stage: Stage, name: str) -> None:
    kind, send = PLAIN[name]
    sent = send(stage.wa)
    [row] = stage.accepted()
    assert (row["type"], row["to"], row["wamid"]) == (kind, PERSON, sent.id)


BUTTONS: dict[str, tuple[str, Any]] = {
    "button": ("button", [Button("Yes", callback_data="y"), Button("No", callback_data="n")]),
    "list": (
        "list",
        SectionList(
            button_title="Choose",
            sections=[Section(title="One", rows=[SectionRow(title="A", callback_data="a", description="x")])],
        ),
    ),
    "url": ("cta_url", URLButton(title="Open", url="https://example.com")),
}


@pytest.mark.parametrize("name", BUTTONS)
def test_messages_with_buttons(stage: Stage, name: str) -> None:
    kind, buttons = BUTTONS[name]
    stage.wa.send_message(PERSON, "Well?", header="Question", footer="Think", buttons=buttons)
    [row] = stage.accepted()
    assert (row["type"], row["content"]["type"], row["content"]["body"]["text"]) == ("interactive", kind, "Well?")


MEDIA: dict[str, tuple[str, bytes, Callable[[WhatsApp, Any], Any]]] = {
    "image": ("image/png", PNG, lambda wa, file: wa.send_image(PERSON, file, caption="Look")),
    "video": ("video/mp4", b"ftyp" * 9, lambda wa, file: wa.send_video(PERSON, file, caption="Look")),
    "audio": ("audio/mpeg", b"ID3" * 9, lambda wa, file: wa.send_audio(PERSON, file)),
    "voice": ("audio/ogg", OGG, lambda wa, file: wa.send_voice(PERSON, file)),
    "document": ("application/pdf", b"%PDF-1.4", lambda wa, file: wa.send_document(PERSON, file, filename="a.pdf")),
    "sticker": ("image/webp", b"RIFF0000WEBP", lambda wa, file: wa.send_sticker(PERSON, file)),
}


@pytest.mark.parametrize("name", MEDIA)
def test_files_by_id_and_by_link(stage: Stage, name: str) -> None:
    mime_type, content, send = MEDIA[name]
    media = stage.wa.upload_media(content, mime_type=mime_type, filename="a.bin")
    send(stage.wa, media.id)
    send(stage.wa, LINK)
    first, second = stage.accepted()
    kind = "audio" if name == "voice" else name
    assert (first["type"], first["content"]["id"]) == (kind, media.id)
    assert (second["type"], second["content"]["link"]) == (kind, LINK)
    assert first["content"].get("voice", False) == (name == "voice")


def test_pywa_uploads_bytes_by_itself(stage: Stage) -> None:
    sent = stage.wa.send_image(PERSON, PNG, mime_type="image/png")
    [row] = stage.accepted()
    assert stage.wa.get_media_bytes(stage.wa.get_media_url(row["content"]["id"]).url) == PNG
    assert sent.id == row["wamid"]


def test_an_image_with_buttons(stage: Stage) -> None:
    stage.wa.send_image(PERSON, LINK, caption="Well?", buttons=[Button("Yes", callback_data="y")])
    [row] = stage.accepted()
    assert row["content"]["header"] == {"type": "image", "image": {"link": LINK}}


def test_reactions_replies_marks_and_typing(stage: Stage) -> None:
    wamid = stage.incoming("text", {"body": "hi"})
    stage.wa.send_reaction(PERSON, "👍", wamid)
    stage.wa.remove_reaction(PERSON, wamid)
    stage.wa.send_message(PERSON, "Yes?", reply_to_message_id=wamid, tracker="order 17")
    assert stage.wa.mark_message_as_read(wamid)
    assert stage.wa.indicate_typing(wamid)
    reaction, removed, reply = stage.accepted()
    assert (reaction["content"]["emoji"], removed["content"]["emoji"]) == ("👍", "")
    assert (reply["context"], reply["biz_opaque_callback_data"]) == (wamid, "order 17")
    marks = stage.control("GET", "ledger?kind=read")["entries"]
    assert [(mark["message_id"], mark["typing"]) for mark in marks] == [(wamid, False), (wamid, True)]


def test_what_the_network_refuses_is_an_error_of_pywa(stage: Stage) -> None:
    with pytest.raises(WhatsAppError) as seen:
        stage.wa.send_message(PERSON, "x" * 4097)
    assert seen.value.code == 100
    with pytest.raises(WhatsAppError) as seen:
        stage.wa.send_template(PERSON, "no_such_template", TemplateLanguage.ENGLISH_US)
    assert seen.value.code == 132001
    stage.wa.token = "wrong"
    with pytest.raises(WhatsAppError) as seen:
        stage.wa.send_message(PERSON, "hi", sender=NUMBER)
    assert seen.value.code == 190
