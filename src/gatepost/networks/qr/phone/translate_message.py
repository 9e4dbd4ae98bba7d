"""Translates a message of the library into frames: unwraps it, and finds its content and context. Pure.

ephemeral, view-once, captioned, … ─► unwrapped ─► message_parts.py ─► a frame
                                          ╰─ protocol messages ─► edit | revoke | nothing
"""

from typing import Any

from gatepost.networks.qr.phone.jids import chat_of, other_side, parse_jid
from gatepost.networks.qr.phone.message_parts import KINDS, MessagePart
from gatepost.networks.qr.phone.protos import e2e
from gatepost.networks.qr.phone.translate_update import seconds

Frame = dict[str, Any]
_DEEPEST = 8
_OFTEN = 5  # forwards after which the network shows "many times"
_VIEW_ONCE = frozenset({"viewOnceMessage", "viewOnceMessageV2", "viewOnceMessageV2Extension"})
# Fields without content from a person: metadata, and data exchanged between devices.
_BESIDE = frozenset(
    {
        "messageContextInfo",
        "senderKeyDistributionMessage",
        "fastRatchetKeySenderKeyDistributionMessage",
        "groupRootKeyShare",
        "rootSecretDistributeMessage",
        "statusLinkPreviewMetadata",
        "albumMessage",
        "keepInChatMessage",
        "pinInChatMessage",
        "stickerSyncRmrMessage",
        "messageHistoryBundle",
        "messageHistoryNotice",
        "requestPhoneNumberMessage",
        "chat",
    }
)


def message(event: Any, _now: int, vote: Any = None) -> list[Frame]:
    """Return the frames of a message. `vote` is the decrypted vote in a poll, if there is one."""
    try:
        return _frames(event, vote)
    except Exception:  # messages are untrusted input; report at least that one arrived
        return [not_understood(event.Info)]


def not_understood(info: Any) -> Frame:
    """Return the frame of a message whose content could not be read."""
    return _frame(info, MessagePart("unsupported", {"unsupported": {"title": "Not understood"}}))


def _frames(event: Any, vote: Any) -> list[Frame]:
    said, wrapped_in = unwrap(event.Message)
    field = kind_of(said)
    part = _part(said, field, vote) if field else None
    if field is None or part is None:
        return []
    context = _context(said, field, event, wrapped_in)
    return [_frame(event.Info, part) | _quote(said, field, event.Info) | ({"context": context} if context else {})]


def unwrap(said: Any) -> tuple[Any, set[str]]:
    """Return a message without its wrappers, and the names of the wrappers."""
    names: set[str] = set()
    for _ in range(_DEEPEST):
        for descriptor, value in said.ListFields():
            inner = descriptor.message_type.name if descriptor.message_type else ""
            if inner in ("FutureProofMessage", "DeviceSentMessage") and value.HasField("message"):
                names.add(descriptor.name)
                said = value.message
                break
        else:
            break
    return said, names


def kind_of(said: Any) -> str | None:
    """Return the name of the field that holds the content; None if there is no content."""
    return next((descriptor.name for descriptor, _ in said.ListFields() if descriptor.name not in _BESIDE), None)


def _part(said: Any, field: str, vote: Any) -> MessagePart | None:
    if field == "protocolMessage":
        return _protocol(said.protocolMessage)
    if field == "pollUpdateMessage":
        return _vote(said.pollUpdateMessage, vote)
    if field in KINDS:
        return KINDS[field](getattr(said, field))
    return MessagePart("unsupported", {"unsupported": {"type": field}})


def _protocol(protocol: Any) -> MessagePart | None:
    if protocol.type == e2e.ProtocolMessage.REVOKE:
        return MessagePart("revoke", {}, target=protocol.key.ID)
    if protocol.type != e2e.ProtocolMessage.MESSAGE_EDIT:
        return None
    said, _ = unwrap(protocol.editedMessage)
    field = kind_of(said)
    part = _part(said, field, None) if field else None
    if part is None:
        return None
    return MessagePart("edit", {"edit": {"type": part.type, "content": part.content}}, target=protocol.key.ID)


def _vote(update: Any, vote: Any) -> MessagePart:
    """Return a vote with the SHA-256 of its options. The session adds their texts if it has the poll."""
    hashes = [option.hex() for option in vote.chosen] if vote is not None else None
    poll = {"options": [], "hashes": hashes} if hashes is not None else {"options": [], "sealed": True}
    return MessagePart("poll_vote", {"poll": poll}, target=update.pollCreationMessageKey.ID)


def _frame(info: Any, part: MessagePart) -> Frame:
    source = info.MessageSource
    frame: Frame = {"event": "message", "id": info.ID, "from": other_side(source, info.Pushname)}
    frame |= {"from_me": source.IsFromMe, "type": part.type, "content": part.content, "at": seconds(info.Timestamp)}
    extra = {"media": part.media, "target": part.target, "chat": chat_of(source)}
    return frame | {key: value for key, value in extra.items() if value}


def _context_info(said: Any, field: str) -> Any:
    value = getattr(said, field)
    known = hasattr(value, "DESCRIPTOR") and "contextInfo" in value.DESCRIPTOR.fields_by_name
    return value.contextInfo if known and value.HasField("contextInfo") else None


def _quote(said: Any, field: str, info: Any) -> Frame:
    about = _context_info(said, field)
    if about is None or not about.stanzaID:
        return {}
    source = info.MessageSource
    writer = parse_jid(about.participant).User
    theirs = {source.Sender.User, source.SenderAlt.User}
    return {"quote": {"id": about.stanzaID, "from_me": (writer in theirs) == source.IsFromMe}}


def _context(said: Any, field: str, event: Any, wrapped_in: set[str]) -> Frame:
    context: Frame = {}
    about = _context_info(said, field)
    if about is not None:
        if about.isForwarded:
            context["forwarded"] = True
        if about.forwardingScore >= _OFTEN:
            context["frequently_forwarded"] = True
        if about.HasField("externalAdReply"):
            context["referral"] = _referral(about.externalAdReply)
    if wrapped_in & _VIEW_ONCE or event.IsViewOnce or event.IsViewOnceV2 or event.IsViewOnceV2Extension:
        context["view_once"] = True
    if "ephemeralMessage" in wrapped_in or event.IsEphemeral:
        context["ephemeral"] = True
    return context


def _referral(advert: Any) -> Frame:
    names = {"headline": advert.title, "body": advert.body, "source_url": advert.sourceURL}
    names |= {"source_id": advert.sourceID, "source_type": advert.sourceType, "ctwa_clid": advert.ctwaClid}
    return {key: value for key, value in names.items() if value}
