"""What goes out, in the library's own types: read back, it says what was asked for."""

from typing import Any

import pytest

from gatepost.networks.qr.phone import build_message, handles, vcards
from gatepost.networks.qr.phone.by_neonize.store_address import store_address
from gatepost.networks.qr.phone.engine import Uploaded
from gatepost.networks.qr.phone.jids import jid_of
from gatepost.networks.qr.phone.protos import e2e
from gatepost.networks.qr.phone.request_errors import problem, reason_of_end
from gatepost.networks.qr.phone.translate_message import message as translate_message
from tests.for_each import for_each
from tests.networks.qr.library_events import ADDRESS, message

TO = jid_of({"phone": "15550003333"})
CARD = {
    "name": {"formatted_name": "Ana; Lopez, Dr.", "first_name": "Ana", "last_name": "Lopez", "prefix": "Dr."},
    "phones": [{"phone": "+1 555 000 3333", "type": "WORK", "wa_id": "15550003333"}],
    "emails": [{"email": "ana@example.com", "type": "HOME"}],
    "urls": [{"url": "https://example.com"}],
    "addresses": [{"street": "1; Main St", "city": "Town", "zip": "123", "country": "US", "type": "HOME"}],
    "org": {"company": "Shop", "department": "Sales", "title": "Head"},
    "birthday": "1990-01-01",
}


def uploaded(kind: str = "image") -> str:
    address: dict[str, Any] = ADDRESS
    keys = (address["mediaKey"], address["fileSHA256"], address["fileEncSHA256"])
    done = Uploaded(address["URL"], address["directPath"], *keys, size=address["fileLength"])
    return handles.uploaded(kind, f"{kind}/x", done)


def media(kind: str = "image") -> dict[str, str]:
    return {"handle": uploaded(kind)}


def back(said: Any) -> dict[str, Any]:
    (frame,) = translate_message(message(e2e.Message.FromString(said.SerializeToString())), 0)
    return frame


@for_each(
    ("type_", "content"),
    [
        ("text", {"body": "Hi"}),
        ("image", {"media": media(), "caption": "Look"}),
        ("video", {"media": media("video")}),
        ("audio", {"media": media("audio"), "voice": True}),
        ("audio", {"media": media("audio")}),
        ("document", {"media": media("document"), "filename": "a.pdf", "caption": "c"}),
        ("sticker", {"media": media()}),
        ("location", {"location": {"latitude": 1.5, "longitude": 2.5, "name": "Home", "address": "1 Main St"}}),
        ("contacts", {"contacts": [CARD]}),
        ("contacts", {"contacts": [CARD, CARD]}),
        ("poll", {"poll": {"question": "?", "options": ["a", "b"], "multiple": False}}),
        ("poll", {"poll": {"question": "?", "options": ["a", "b"], "multiple": True}}),
    ],
)
def test_each_type_reads_back_as_it_was(type_: str, content: dict[str, Any]) -> None:
    frame = back(build_message.build(type_, content, TO, {}))
    expected = content | ({"media": {}} if "media" in content else {})
    assert (frame["type"], frame["content"]) == (type_, expected)
    if "media" in content:
        assert frame["media"]["size"] == 1234
        assert handles.unpack(frame["media"]["handle"])[1] is not None


@pytest.mark.parametrize("emoji", ["👍", ""])
def test_a_reaction_is_about_its_target(emoji: str) -> None:
    said = build_message.build(
        "reaction", {"reaction": {"emoji": emoji}}, TO, {"target": {"id": "3EB0", "from_me": False}}
    )
    assert said.reactionMessage.key.remoteJID == "15550003333@s.whatsapp.net"
    assert said.reactionMessage.key.fromMe is False
    frame = back(said)
    assert (frame["content"], frame["target"]) == ({"reaction": {"emoji": emoji}}, "3EB0")


def test_an_answer_shows_what_it_answers() -> None:
    quote = {"id": "3EB0", "from_me": False, "text": "Hello"}
    for type_, content in (("text", {"body": "Hi"}), ("image", {"media": media()})):
        said = build_message.build(type_, content, TO, {"quote": quote})
        assert back(said)["quote"] == {"id": "3EB0", "from_me": False}
    own = build_message.build(
        "text", {"body": "x"}, TO, {"quote": quote | {"participant": "15550002222@s.whatsapp.net"}}
    )
    assert own.extendedTextMessage.contextInfo.participant == "15550002222@s.whatsapp.net"
    assert own.extendedTextMessage.contextInfo.quotedMessage.conversation == "Hello"


def test_edits_and_deletions_name_their_message() -> None:
    edited = back(build_message.edit("3EB0", TO, build_message.build("text", {"body": "Hi!"}, TO, {}), 1))
    assert (edited["type"], edited["target"]) == ("edit", "3EB0")
    assert edited["content"] == {"edit": {"type": "text", "content": {"body": "Hi!"}}}
    revoked = back(build_message.revoke("3EB0", TO))
    assert (revoked["type"], revoked["target"]) == ("revoke", "3EB0")


@for_each(
    ("type_", "content"),
    [
        ("buttons", {}),
        ("text", {}),
        ("image", {"media": {"handle": "med_1"}}),
        ("image", {"media": {"handle": "m1.!!"}}),
        ("image", {"media": {"handle": "m1."}}),
        ("document", {"media": media("image")}),
        ("location", {"location": {"latitude": "north", "longitude": 1}}),
        ("reaction", {"reaction": {}}),
        ("poll", {"poll": {}}),
    ],
)
def test_what_cannot_be_built_says_so(type_: str, content: dict[str, Any]) -> None:
    with pytest.raises(build_message.UnsupportedContent):
        build_message.build(type_, content, TO, {})


@pytest.mark.parametrize(
    ("mime_type", "kind"),
    [("image/png", "image"), ("audio/ogg", "audio"), ("application/pdf", "document"), ("", "document")],
)
def test_files_are_handed_over_as_what_they_are(mime_type: str, kind: str) -> None:
    assert handles.kind_of(mime_type) == kind


def test_cards_of_other_phones_are_read() -> None:
    folded = "BEGIN:VCARD\r\nN:;;;;\r\nFN:A very\r\n  long name\r\nTEL;type=CELL;type=pref:+1 2\r\nX-Y:z\r\nEND:VCARD"
    assert vcards.read(folded) == {
        "name": {"formatted_name": "A very long name"},
        "phones": [{"phone": "+1 2", "type": "CELL"}],
    }
    assert vcards.read("TEL:+1 2")["name"] == {"formatted_name": "+1 2"}
    assert vcards.read("")["name"] == {"formatted_name": "?"}
    assert "\nEND" not in vcards.write({"name": {"formatted_name": "x\nEND:VCARD"}})[:-9]


@for_each(
    ("text", "code", "sure"),
    [
        ("server returned error 463", 463, True),
        (
            "failed to get device list: info query returned status 429: rate-overlimit",
            429,
            True,
        ),
        ("info query returned status 404: item-not-found", 404, True),
        ("rate-overlimit", 429, True),
        ("websocket not connected", 0, True),
        ("the store doesn't contain a device JID", 0, True),
        ("timed out waiting for message send response", 0, False),
        ("failed to send message node: websocket closed", 0, False),
    ],
)
def test_what_the_library_says_went_wrong(text: str, code: int, sure: bool) -> None:
    answer = problem(text)
    assert (answer["error"]["code"], answer["sure"]) == (code, sure)


def test_why_a_link_ended() -> None:
    assert reason_of_end("failed to dial whatsapp web websocket: x") == "network_gone"
    assert reason_of_end("pq: no schema has been selected to create in") == "stream_error"


def test_the_store_is_a_schema_of_its_own() -> None:
    address = store_address("postgresql://u@/db?host=/run/pg&port=5432")
    assert address == (
        "postgresql://u@/db?host=%2Frun%2Fpg&port=5432&search_path=qr_devices&idle_session_timeout=60000&sslmode=prefer"
    )
    assert "sslmode=require" in store_address("postgres://u:p@h/db?sslmode=require&search_path=public")
    assert "public" not in store_address("postgres://u:p@h/db?sslmode=require&search_path=public")
    assert store_address("/data/devices.db") == "/data/devices.db"
    several = store_address("postgres://u:p%40@db-1:5433,db-2/db?target_session_attrs=primary")
    assert several.startswith("postgres://u:p%40@/db?target_session_attrs=primary&host=db-1%2Cdb-2&port=5433")
    assert "port=5433%2C5432" in several
