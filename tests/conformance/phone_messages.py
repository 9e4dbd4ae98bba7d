"""What people say and see on phones: the neutral shapes of the suite ↔ the messages that phones exchange. Pure."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gatepost.networks.qr.phone import build_message, handles
from gatepost.networks.qr.phone.engine import Uploaded
from gatepost.networks.qr.phone.jids import jid
from gatepost.networks.qr.phone.message_parts import KINDS
from gatepost.networks.qr.phone.protos import common, e2e
from gatepost.networks.qr.phone.translate_message import kind_of, unwrap
from tests.conformance.line import FILE_TYPES, Sample, Taken

Content = dict[str, Any]
SERVER = "s.whatsapp.net"
_POLL = {"poll": {"question": "When?", "options": ["Now", "Later"], "multiple": False}}
_LIVE = e2e.LiveLocationMessage(degreesLatitude=1.5, degreesLongitude=2.5)
_AD = e2e.ContextInfo.ExternalAdReplyInfo(title="Tea", sourceURL="https://ads.example.com/1", sourceType="ad")
_FLOW = e2e.InteractiveResponseMessage.NativeFlowResponseMessage(name="flow", paramsJSON='{"size": 42}')
_ONCE = e2e.FutureProofMessage(message=e2e.Message(conversation="For your eyes"))

OWN: tuple[Sample, ...] = (
    Sample("poll", {"said": build_message.build("poll", _POLL, jid("1", SERVER), {})}, _POLL),
    Sample(
        "location",
        {"said": e2e.Message(liveLocationMessage=_LIVE)},
        {"location": {"latitude": 1.5, "longitude": 2.5, "live": True}},
    ),
    Sample(
        "text",
        {
            "said": e2e.Message(
                extendedTextMessage=e2e.ExtendedTextMessage(
                    text="I saw this", contextInfo=e2e.ContextInfo(externalAdReply=_AD)
                )
            )
        },
        {"body": "I saw this"},
        {"referral": {"headline": "Tea", "source_url": "https://ads.example.com/1", "source_type": "ad"}},
    ),
    Sample(
        "flow_reply",
        {
            "said": e2e.Message(
                interactiveResponseMessage=e2e.InteractiveResponseMessage(
                    body=e2e.InteractiveResponseMessage.Body(text="Sent"), nativeFlowResponseMessage=_FLOW
                )
            )
        },
        {"reply": {"name": "flow", "body": "Sent", "response": {"size": 42}}},
    ),
    Sample("text", {"said": e2e.Message(viewOnceMessageV2=_ONCE)}, {"body": "For your eyes"}, {"view_once": True}),
    Sample(
        "unsupported",
        {"said": e2e.Message(eventMessage=e2e.EventMessage(name="Party"))},
        {"unsupported": {"type": "eventMessage"}},
    ),
)


def said(type_: str, content: Content, to: str, target: str | None = None) -> Any:
    """What somebody sends to the phone `to`."""
    place = jid(to, SERVER)
    match type_:
        case "reaction":
            return build_message.build(type_, content, place, {"target": {"id": target, "from_me": False}})
        case "button_reply":
            chosen = content["reply"]
            reply = e2e.ButtonsResponseMessage(selectedButtonID=chosen["id"], selectedDisplayText=chosen["title"])
            return e2e.Message(buttonsResponseMessage=reply)
        case "list_reply":
            return e2e.Message(listResponseMessage=_list_reply(content["reply"]))
        case "revoke":
            return build_message.revoke(target or "", place)
    return build_message.build(type_, content, place, {})


def _list_reply(chosen: Content) -> Any:
    row = e2e.ListResponseMessage.SingleSelectReply(selectedRowID=chosen["id"])
    return e2e.ListResponseMessage(title=chosen["title"], description=chosen["description"], singleSelectReply=row)


def edited(before: Any, content: Content, to: str, target: str) -> Any:
    """The message that changes another: a file comes again with its new words."""
    after, place = e2e.Message(), jid(to, SERVER)
    after.CopyFrom(before)
    field = kind_of(after)
    if field == "extendedTextMessage":
        after.extendedTextMessage.text = content["body"]
    else:
        getattr(after, field or "").caption = content["caption"]
    return build_message.edit(target, place, after, 0)


def marked(message: Any, *, forwarded: bool, reply_to: str | None, writer: str) -> Any:
    """The message with what it answers, and who wrote that."""
    about = getattr(message, kind_of(message) or "")
    if forwarded:
        about.contextInfo.isForwarded = True
    if reply_to:
        about.contextInfo.stanzaID, about.contextInfo.participant = reply_to, f"{writer}@{SERVER}"
        about.contextInfo.quotedMessage.conversation = "…"
    return message


def vote(poll: str, secret: bytes, names: tuple[str, str], options: list[str]) -> Any:
    """A vote as a phone seals it: with the poll's secret, its author's name and the voter's."""
    author, voter = names
    chosen = [hashlib.sha256(option.encode()).digest() for option in options]
    first = hmac.digest(bytes(32), secret, "sha256")
    key = hmac.digest(first, f"{poll}{author}{voter}Poll Vote\1".encode(), "sha256")
    plain = e2e.PollVoteMessage(selectedOptions=chosen).SerializeToString()
    sealed = AESGCM(key).encrypt(bytes(12), plain, f"{poll}\0{voter}".encode())
    about = common.MessageKey(remoteJID=voter, fromMe=True, ID=poll)
    update = e2e.PollUpdateMessage(
        pollCreationMessageKey=about, vote=e2e.PollEncValue(encPayload=sealed, encIV=bytes(12))
    )
    return e2e.Message(pollUpdateMessage=update)


def file_handle(kind: str, mime_type: str, kept: Content) -> str:
    """The name of a file that somebody put on the network."""
    names = {"media_key": "mediaKey", "sha256": "fileSha256", "encrypted_sha256": "fileEncSha256"}
    keys = {ours: b64decode(kept[theirs]) for ours, theirs in names.items()}
    done = Uploaded(url=kept["url"], direct_path=kept["directPath"], size=kept["fileLength"], **keys)
    return handles.uploaded(kind, mime_type, done)


def read(seen: Content) -> Any:
    """A message that the network saw."""
    return e2e.Message.FromString(b64decode(seen["message"] or ""))


def taken(seen: Content) -> Taken | None:
    """The same as the suite knows it; nothing for what changes another message."""
    message, _ = unwrap(read(seen))
    field = kind_of(message)
    if field not in KINDS:
        return None
    value = getattr(message, field)
    part = KINDS[field](value)
    content = part.content
    if part.type in FILE_TYPES:
        key = b64encode(value.mediaKey).decode()
        content = {**content, "media": {"direct_path": value.directPath, "media_key": key, "kind": part.type}}
    answers = value.contextInfo.stanzaID if "contextInfo" in _fields(value) else ""
    return Taken(seen["id"], seen["id"], seen["phone"], part.type, content, answers or None, part.target)


def _fields(value: Any) -> Any:
    return value.DESCRIPTOR.fields_by_name if hasattr(value, "DESCRIPTOR") else ()
