"""Every kind of message that the library knows, as a frame and as the value that the gateway stores."""

import hashlib
from typing import Any

import msgspec
import pytest

from gatepost.networks.base import Incoming, Person, RemoteMedia
from gatepost.networks.qr import frames
from gatepost.networks.qr.phone.engine import PollVote
from gatepost.networks.qr.phone.handles import unpack
from gatepost.networks.qr.phone.jids import jid
from gatepost.networks.qr.phone.protos import common, e2e
from gatepost.networks.qr.phone.translate_event import translate
from gatepost.networks.qr.phone.translate_message import message as translate_message
from gatepost.networks.qr.translate import updates_of
from tests.for_each import for_each
from tests.networks.qr import library_events as lib
from tests.networks.qr.library_events import ADDRESS, ANA, ANA_HIDDEN, GROUP, NOBODY, SHOP, message, said

KEY = common.MessageKey(remoteJID="15550003333@s.whatsapp.net", fromMe=True, ID="3EB0TARGET")
VCARD = "BEGIN:VCARD\nVERSION:3.0\nN:Lopez;Ana;;;\nFN:Ana Lopez\nitem1.TEL;waid=15550003333:+1 555 000 3333\nEND:VCARD"
CARD = {
    "name": {"formatted_name": "Ana Lopez", "first_name": "Ana", "last_name": "Lopez"},
    "phones": [{"phone": "+1 555 000 3333", "wa_id": "15550003333"}],
}
IMAGE = e2e.ImageMessage(mimetype="image/jpeg", caption="Look", JPEGThumbnail=b"t" * 900, **ADDRESS)

TITLED = e2e.DocumentMessage(title="b", caption="c", **ADDRESS)
EDIT = e2e.ProtocolMessage.MESSAGE_EDIT


def poll(**fields: Any) -> Any:
    options = [e2e.PollCreationMessage.Option(optionName=name) for name in ("Red", "Blue")]
    return e2e.PollCreationMessage(name="Colour?", options=options, **fields)


def flow(name: str, parameters: str) -> Any:
    kind = e2e.InteractiveResponseMessage
    answer = kind.NativeFlowResponseMessage(name=name, paramsJSON=parameters, version=3)
    return said(interactiveResponseMessage=kind(body=kind.Body(text="Sent"), nativeFlowResponseMessage=answer))


def protocol(**fields: Any) -> Any:
    return said(protocolMessage=e2e.ProtocolMessage(key=KEY, **fields))


def wrapped(name: str, inner: Any) -> Any:
    return said(**{name: e2e.FutureProofMessage(message=inner)})


KINDS: list[tuple[Any, str, dict[str, Any]]] = [
    (said(conversation="Hi"), "text", {"body": "Hi"}),
    (said(extendedTextMessage=e2e.ExtendedTextMessage(text="Hi")), "text", {"body": "Hi"}),
    (said(imageMessage=IMAGE), "image", {"media": {}, "caption": "Look"}),
    (said(videoMessage=e2e.VideoMessage(mimetype="video/mp4", **ADDRESS)), "video", {"media": {}}),
    (said(ptvMessage=e2e.VideoMessage(mimetype="video/mp4", **ADDRESS)), "video", {"media": {}, "note": True}),
    (said(audioMessage=e2e.AudioMessage(mimetype="audio/mpeg", **ADDRESS)), "audio", {"media": {}}),
    (said(audioMessage=e2e.AudioMessage(PTT=True, **ADDRESS)), "audio", {"media": {}, "voice": True}),
    (
        said(documentMessage=e2e.DocumentMessage(fileName="a.pdf", **ADDRESS)),
        "document",
        {"media": {}, "filename": "a.pdf"},
    ),
    (
        wrapped(
            "documentWithCaptionMessage", said(documentMessage=e2e.DocumentMessage(title="b", caption="c", **ADDRESS))
        ),
        "document",
        {"media": {}, "filename": "b", "caption": "c"},
    ),
    (said(stickerMessage=e2e.StickerMessage(isAnimated=True, **ADDRESS)), "sticker", {"media": {}, "animated": True}),
    (wrapped("lottieStickerMessage", said(stickerMessage=e2e.StickerMessage(**ADDRESS))), "sticker", {"media": {}}),
    (
        said(
            locationMessage=e2e.LocationMessage(
                degreesLatitude=1.5, degreesLongitude=-2.5, name="Home", URL="https://x"
            )
        ),
        "location",
        {"location": {"latitude": 1.5, "longitude": -2.5, "name": "Home", "url": "https://x"}},
    ),
    (
        said(liveLocationMessage=e2e.LiveLocationMessage(degreesLatitude=1.5, degreesLongitude=2.5, caption="Soon")),
        "location",
        {"location": {"latitude": 1.5, "longitude": 2.5, "live": True, "name": "Soon"}},
    ),
    (said(contactMessage=e2e.ContactMessage(displayName="A", vcard=VCARD)), "contacts", {"contacts": [CARD]}),
    (
        said(contactsArrayMessage=e2e.ContactsArrayMessage(contacts=[e2e.ContactMessage(vcard=VCARD)] * 2)),
        "contacts",
        {"contacts": [CARD, CARD]},
    ),
    (said(reactionMessage=e2e.ReactionMessage(key=KEY, text="👍")), "reaction", {"reaction": {"emoji": "👍"}}),
    (said(reactionMessage=e2e.ReactionMessage(key=KEY, text="")), "reaction", {"reaction": {"emoji": ""}}),
    (protocol(type=e2e.ProtocolMessage.REVOKE), "revoke", {}),
    (
        protocol(type=e2e.ProtocolMessage.MESSAGE_EDIT, editedMessage=said(conversation="Hi!")),
        "edit",
        {"edit": {"type": "text", "content": {"body": "Hi!"}}},
    ),
    (
        wrapped(
            "editedMessage", protocol(type=e2e.ProtocolMessage.MESSAGE_EDIT, editedMessage=said(imageMessage=IMAGE))
        ),
        "edit",
        {"edit": {"type": "image", "content": {"media": {}, "caption": "Look"}}},
    ),
    (
        said(buttonsResponseMessage=e2e.ButtonsResponseMessage(selectedButtonID="yes", selectedDisplayText="Yes")),
        "button_reply",
        {"reply": {"id": "yes", "title": "Yes"}},
    ),
    (
        said(templateButtonReplyMessage=e2e.TemplateButtonReplyMessage(selectedID="p", selectedDisplayText="Stop")),
        "button_reply",
        {"reply": {"id": "p", "title": "Stop"}},
    ),
    (
        said(
            listResponseMessage=e2e.ListResponseMessage(
                title="Large",
                description="40 cm",
                singleSelectReply=e2e.ListResponseMessage.SingleSelectReply(selectedRowID="l"),
            )
        ),
        "list_reply",
        {"reply": {"id": "l", "title": "Large", "description": "40 cm"}},
    ),
    (flow("quick_reply", '{"id":"q1"}'), "button_reply", {"reply": {"id": "q1", "title": "Sent"}}),
    (flow("single_select", '{"id":"s1"}'), "list_reply", {"reply": {"id": "s1", "title": "Sent"}}),
    (flow("flow", '{"a":1}'), "flow_reply", {"reply": {"name": "flow", "body": "Sent", "response": {"a": 1}}}),
    (flow("flow", "{no"), "flow_reply", {"reply": {"name": "flow", "body": "Sent", "response": "{no"}}),
    (
        said(
            orderMessage=e2e.OrderMessage(
                orderID="o1",
                itemCount=2,
                message="Please",
                orderTitle="Shop",
                sellerJID="15550002222@s.whatsapp.net",
                totalAmount1000=30_500,
                totalCurrencyCode="USD",
            )
        ),
        "order",
        {
            "order": {
                "catalog_id": "15550002222",
                "text": "Please",
                "items": [],
                "id": "o1",
                "title": "Shop",
                "item_count": 2,
                "total": "30.50",
                "currency": "USD",
            }
        },
    ),
    (
        said(
            productMessage=e2e.ProductMessage(
                product=e2e.ProductMessage.ProductSnapshot(productID="77", retailerID="sku", title="Cup"),
                businessOwnerJID="15550002222@s.whatsapp.net",
                body="This",
            )
        ),
        "product",
        {
            "product": {"catalog_id": "15550002222", "retailer_id": "sku", "id": "77", "title": "Cup"},
            "body": "This",
        },
    ),
    *(
        (
            said(**{f"pollCreationMessage{version}": poll(selectableOptionsCount=1)}),
            "poll",
            {"poll": {"question": "Colour?", "options": ["Red", "Blue"], "multiple": False}},
        )
        for version in ("", "V2", "V3", "V5", "V6")
    ),
    (
        wrapped("pollCreationMessageV4", said(pollCreationMessage=poll(selectableOptionsCount=0))),
        "poll",
        {"poll": {"question": "Colour?", "options": ["Red", "Blue"], "multiple": True}},
    ),
    (
        said(groupInviteMessage=e2e.GroupInviteMessage(groupName="Fans", inviteCode="abc", caption="Come")),
        "text",
        {"body": "Come\n\nInvitation to the group Fans: https://chat.whatsapp.com/abc"},
    ),
    (said(buttonsMessage=e2e.ButtonsMessage(contentText="Choose")), "text", {"body": "Choose"}),
    (said(listMessage=e2e.ListMessage(title="Menu", description="Choose")), "text", {"body": "Menu\n\nChoose"}),
    (
        said(interactiveMessage=e2e.InteractiveMessage(body=e2e.InteractiveMessage.Body(text="Tap"))),
        "text",
        {"body": "Tap"},
    ),
    (
        said(
            templateMessage=e2e.TemplateMessage(
                hydratedTemplate=e2e.TemplateMessage.HydratedFourRowTemplate(hydratedContentText="Your order")
            )
        ),
        "text",
        {"body": "Your order"},
    ),
    (said(eventMessage=e2e.EventMessage(name="Fair")), "unsupported", {"unsupported": {"type": "eventMessage"}}),
]


@for_each(("library", "type_", "content"), KINDS)
def test_each_kind_becomes_its_type_and_content(library: Any, type_: str, content: dict[str, Any]) -> None:
    (frame,) = translate(message(library), lib.AT)
    assert (frame["type"], frame["content"]) == (type_, content)
    assert (frame["id"], frame["from_me"], frame["at"]) == ("3EB0AA", False, lib.AT)
    incoming = as_update(frame)
    file = {name: value for name, value in frame.get("media", {}).items() if name in ("mime_type", "sha256", "size")}
    seen = {**content, "media": file} if "media" in content else content  # what is known of a file is told with it
    assert (incoming.type, msgspec.json.decode(incoming.content)) == (type_, seen)
    assert incoming.person == Person(phone="15550003333", name="Ana")


def as_update(frame: dict[str, Any]) -> Incoming:
    """The value that the gateway gets, over the protocol itself."""
    event = frames.parse_frame(frames.encode_frame({**frame, "session": "ch_1", "seq": 5}))
    assert isinstance(event, frames.MessageFrame)
    ((seq, update),) = updates_of(event, "connected")
    assert seq == 5
    assert isinstance(update, Incoming)
    return update


@pytest.mark.parametrize("library", [said(reactionMessage=e2e.ReactionMessage(key=KEY)), protocol(type=0)])
def test_what_is_about_another_message_names_it(library: Any) -> None:
    (frame,) = translate(message(library), lib.AT)
    assert frame["target"] == "3EB0TARGET"
    assert as_update(frame).target == "3EB0TARGET"


@for_each(
    "library",
    [
        said(senderKeyDistributionMessage=e2e.SenderKeyDistributionMessage(groupID="1")),
        said(messageContextInfo=e2e.MessageContextInfo(messageSecret=b"s")),
        said(albumMessage=e2e.AlbumMessage(expectedImageCount=2)),
        protocol(type=e2e.ProtocolMessage.HISTORY_SYNC_NOTIFICATION),
        protocol(type=e2e.ProtocolMessage.MESSAGE_EDIT),
        said(),
    ],
)
def test_what_nobody_said_is_no_message(library: Any) -> None:
    assert translate(message(library), lib.AT) == []


def test_every_kind_of_the_library_comes_through() -> None:
    """Whatever field of the library's message is set, there is a frame or a deliberate silence, never an exception."""
    for field in e2e.Message.DESCRIPTOR.fields:
        library = e2e.Message()
        if field.message_type:
            getattr(library, field.name).SetInParent()
        else:
            setattr(library, field.name, "x")
        for frame in translate(message(library), lib.AT):
            as_update(frame)


def test_envelopes_come_off_and_leave_their_mark() -> None:
    inner = said(imageMessage=IMAGE)
    for name in ("viewOnceMessage", "viewOnceMessageV2", "viewOnceMessageV2Extension"):
        (frame,) = translate(message(wrapped("ephemeralMessage", wrapped(name, inner))), lib.AT)
        assert (frame["type"], frame["context"]) == ("image", {"view_once": True, "ephemeral": True})
    sent = said(deviceSentMessage=e2e.DeviceSentMessage(destinationJID="x", message=said(conversation="Hi")))
    (frame,) = translate(message(sent), lib.AT)
    assert frame["content"] == {"body": "Hi"}


@pytest.mark.parametrize(("deep", "type_"), [(8, "text"), (9, "unsupported")])
def test_envelopes_in_envelopes_have_an_end(deep: int, type_: str) -> None:
    library = said(conversation="Hi")
    for _ in range(deep):
        library = wrapped("ephemeralMessage", library)
    (frame,) = translate(message(library), lib.AT)
    assert frame["type"] == type_


def test_a_file_has_a_handle_that_holds_all_it_takes() -> None:
    (frame,) = translate(message(said(imageMessage=IMAGE)), lib.AT)
    media = as_update(frame).media
    assert media == RemoteMedia(frame["media"]["handle"], "image/jpeg", "0a" * 32, 1234)
    kind, stored = unpack(media.handle)
    assert (kind, stored.imageMessage.mediaKey, stored.imageMessage.directPath) == ("image", b"k" * 32, "/v/f")
    assert not stored.imageMessage.JPEGThumbnail
    assert len(media.handle) < 600


def test_quotes_forwards_and_adverts() -> None:
    advert = e2e.ContextInfo.ExternalAdReplyInfo(title="Sale", sourceURL="https://x", sourceID="1")
    about = e2e.ContextInfo(
        stanzaID="3EB0Q",
        participant="15550002222@s.whatsapp.net",
        isForwarded=True,
        forwardingScore=5,
        externalAdReply=advert,
    )
    (frame,) = translate(message(said(extendedTextMessage=e2e.ExtendedTextMessage(text="x", contextInfo=about))), 0)
    assert frame["quote"] == {"id": "3EB0Q", "from_me": True}
    assert frame["context"] == {
        "forwarded": True,
        "frequently_forwarded": True,
        "referral": {"headline": "Sale", "source_url": "https://x", "source_id": "1"},
    }
    update = as_update(frame)
    assert (update.reply_to, update.context) == ("3EB0Q", frame["context"])
    about.participant, about.forwardingScore = "15550003333@s.whatsapp.net", 4
    (frame,) = translate(message(said(extendedTextMessage=e2e.ExtendedTextMessage(text="x", contextInfo=about))), 0)
    assert frame["quote"] == {"id": "3EB0Q", "from_me": False}
    assert "frequently_forwarded" not in frame["context"]


def test_a_hidden_person_has_both_names() -> None:
    event = message(said(conversation="Hi"), Chat=ANA_HIDDEN, Sender=ANA_HIDDEN, SenderAlt=ANA)
    (frame,) = translate(event, lib.AT)
    assert as_update(frame).person == Person(phone="15550003333", lid="987654321", name="Ana")


def test_what_the_phone_sent_is_with_whom_it_went_to() -> None:
    event = message(said(conversation="Hi"), IsFromMe=True, Sender=SHOP, Chat=ANA_HIDDEN, RecipientAlt=ANA)
    (frame,) = translate(event, lib.AT)
    update = as_update(frame)
    assert update.from_me
    assert update.person == Person(phone="15550003333", lid="987654321")


@pytest.mark.parametrize(
    ("chat", "kind"),
    [
        (GROUP, "group"),
        (jid("status", "broadcast"), "status"),
        (jid("120363", "newsletter"), "newsletter"),
    ],
)
def test_what_is_no_conversation_with_one_person_says_so(chat: Any, kind: str) -> None:
    (frame,) = translate(message(said(conversation="Hi"), Chat=chat, IsGroup=kind == "group"), lib.AT)
    assert frame["chat"]["kind"] == kind
    update = as_update(frame)
    assert update.context == {"chat": {"kind": kind, "id": f"{chat.User}@{chat.Server}"}}
    assert update.person.phone == "15550003333"


def test_a_message_to_a_broadcast_list_belongs_to_the_conversation_with_its_sender() -> None:
    people = jid("1763200000", "broadcast")
    (frame,) = translate(message(said(conversation="Open today!"), Chat=people, IsGroup=True), lib.AT)
    update = as_update(frame)
    assert (update.person.phone, update.context, update.from_me) == ("15550003333", None, False)
    (own,) = translate(message(said(conversation="Hi"), Chat=people, Sender=SHOP, IsFromMe=True), lib.AT)
    assert own["chat"] == {"kind": "status", "id": "1763200000@broadcast"}


def test_votes_are_reported_by_the_hashes_of_their_options() -> None:
    vote = said(pollUpdateMessage=e2e.PollUpdateMessage(pollCreationMessageKey=KEY))
    red = hashlib.sha256(b"Red").digest()
    (frame,) = translate_message(message(vote), 0, PollVote([red]))
    assert (frame["type"], frame["target"]) == ("poll_vote", "3EB0TARGET")
    assert frame["content"] == {"poll": {"options": [], "hashes": [red.hex()]}}
    (sealed,) = translate(message(vote), 0)
    assert sealed["content"] == {"poll": {"options": [], "sealed": True}}


def test_nobody_is_nobody() -> None:
    (frame,) = translate(message(said(conversation="Hi"), Chat=NOBODY, Sender=NOBODY), lib.AT)
    assert frame["from"] == {"name": "Ana"}
