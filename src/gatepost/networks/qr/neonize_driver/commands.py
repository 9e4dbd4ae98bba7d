"""What the gateway may ask of a session, one function per request. Each returns the fields of its answer."""

import asyncio
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any

from gatepost.networks.qr.neonize_driver import build, handles, troubles
from gatepost.networks.qr.neonize_driver.people import jid, jid_of, person, written
from gatepost.networks.qr.neonize_driver.session import Session
from gatepost.networks.qr.neonize_driver.wire import Fields, Refused

PIECE = 256 << 10
FIRST_CODE_WITHIN = 30.0
_POLLS = 1000
_MEDIA = {"image": "MediaImage", "video": "MediaVideo", "audio": "MediaAudio", "document": "MediaDocument"}


async def send(session: Session, frame: Fields) -> Fields:
    """Sends a message. The library chooses the id; the answer tells it."""
    to = await _recipient(session, frame["to"])
    content = await _fitting(session, frame["type"], frame["content"])
    sent = await _native(session.commands.send_message, to, _built(session, frame | {"content": content}, to))
    if frame["type"] == "poll":
        session.polls[sent.ID] = build.option_hashes(content["poll"]["options"])
        while len(session.polls) > _POLLS:
            session.polls.pop(next(iter(session.polls)))
    return {"ok": True, "id": sent.ID, "at": sent.Timestamp}


async def edit(session: Session, frame: Fields) -> Fields:
    to = await _recipient(session, frame["to"])
    content = await _fitting(session, frame["type"], frame["content"])
    said = _built(session, frame | {"content": content}, to)
    await _native(session.commands.send_message, to, build.edit(frame["id"], to, said, int(time.time() * 1000)))
    return {"ok": True}


async def delete(session: Session, frame: Fields) -> Fields:
    to = await _recipient(session, frame["to"])
    await _native(session.commands.send_message, to, build.revoke(frame["id"], to))
    return {"ok": True}


async def read(session: Session, frame: Fields) -> Fields:
    _up(session)
    chat, kinds = jid_of(frame["from"]), session.words.ReceiptType
    await _native(lambda: session.commands.mark_read(*frame["ids"], chat=chat, sender=chat, receipt=kinds.READ))
    return {"ok": True}


async def typing(session: Session, frame: Fields) -> Fields:
    _up(session)
    words = session.words
    state = words.ChatPresence(0 if frame["on"] else 1)
    await _native(session.commands.send_chat_presence, jid_of(frame["to"]), state, words.ChatPresenceMedia(0))
    return {"ok": True}


async def check(session: Session, frame: Fields) -> Fields:
    _up(session)
    return {"ok": True, "known": [who | {"phone": asked} for asked, who in await _known(session, frame["phones"])]}


async def pair(session: Session, frame: Fields) -> Fields:
    """A code to type; the network gives one only after it offered codes to scan."""
    try:
        async with asyncio.timeout(FIRST_CODE_WITHIN):
            await session.waiting.wait()
    except TimeoutError:
        raise Refused(troubles.not_up("The network was not reached in time.")) from None
    kinds = session.words.ClientType
    code = await _native(lambda: session.commands.PairPhone(frame["phone"], True, client_type=kinds.CHROME))
    return {"ok": True, "code": code}


async def put(session: Session, mime_type: str, content: bytes) -> Fields:
    """Hands a file to the network as what its type suggests."""
    _up(session)
    kind = handles.kind_of(mime_type)
    return {"ok": True, "handle": await _upload(session, kind, mime_type, content)}


async def get(session: Session, frame: Fields) -> list[Fields]:
    """A file in pieces."""
    _up(session)
    kind, message = _unpacked(frame["handle"])
    file = getattr(message, handles.FIELDS[kind])
    if file.fileLength > frame["most"]:
        raise Refused(troubles.unfit(f"The file has {file.fileLength} bytes, more than {frame['most']}."))
    whole = await _native(session.commands.download_any, message)
    pieces = [whole[start : start + PIECE] for start in range(0, max(len(whole), 1), PIECE)]
    answers: list[Fields] = [{"data": b64encode(piece).decode(), "last": False} for piece in pieces]
    answers[-1] |= {"ok": True, "last": True, "mime": file.mimetype}
    return answers


async def logout(session: Session, _frame: Fields) -> Fields:
    _up(session)
    await _native(session.commands.logout)
    return {"ok": True}


COMMANDS: dict[str, Callable[[Session, Fields], Awaitable[Fields]]] = {
    "send": send,
    "edit": edit,
    "delete": delete,
    "read": read,
    "typing": typing,
    "check": check,
    "pair": pair,
    "logout": logout,
}


def _up(session: Session) -> None:
    """The library's calls end the process where there is no connection to make them over."""
    if not session.connected:
        raise Refused(troubles.not_up())


def _built(session: Session, frame: Fields, to: Any) -> Any:
    quote = frame.get("quote")
    if quote and quote.get("from_me") and session.me is not None:
        frame = frame | {"quote": {**quote, "participant": written(jid(session.me.JID.User, session.me.JID.Server))}}
    try:
        return build.build(frame["type"], frame["content"], to, frame)
    except build.CannotBuild as error:
        raise Refused(troubles.unfit(str(error))) from error


async def _recipient(session: Session, who: dict[str, str]) -> Any:
    """Whom to write to. A phone number is looked up once: some have another form on the network."""
    _up(session)
    if not who.get("phone"):
        return jid_of(who)
    found = session.people.get(who["phone"])
    if found is None:
        known = await _known(session, [who["phone"]])
        if not known:
            raise Refused(troubles.not_on_network(who["phone"]))
        found = session.people[who["phone"]] = jid_of(known[0][1])
    return found


async def _known(session: Session, phones: list[str]) -> list[tuple[str, dict[str, str]]]:
    try:
        rows = await asyncio.to_thread(session.commands.is_on_whatsapp, *(f"+{phone}" for phone in phones))
    except Exception as error:
        if "returned nothing" in str(error):
            return []
        # Nothing but a question has left so far.
        raise Refused(troubles.problem(str(error)) | {"sure": True}) from error
    return [(row.Query.lstrip("+"), person(row.JID)) for row in rows if row.IsIn]


async def _fitting(session: Session, type_: str, content: Fields) -> Fields:
    """The content with a file whose keys fit: a picture that goes as a document is handed over anew."""
    if type_ not in handles.FIELDS:
        return content
    handle = (content.get("media") or {}).get("handle", "")
    kind, message = _unpacked(handle)
    if handles.keys_fit(kind, type_):
        return content
    whole = await _native(session.commands.download_any, message)
    mime_type = getattr(message, handles.FIELDS[kind]).mimetype
    return content | {"media": {"handle": await _upload(session, type_, mime_type, whole)}}


async def _upload(session: Session, kind: str, mime_type: str, content: bytes) -> str:
    kinds = session.words.MediaType
    done = await _native(session.commands.upload, content, kinds[_MEDIA.get(kind, "MediaImage")])
    return handles.uploaded(kind, mime_type, done)


def _unpacked(handle: str) -> tuple[str, Any]:
    try:
        return handles.unpack(handle)
    except handles.BadHandle:
        raise Refused(troubles.unfit("The file's handle is not one of this link.")) from None


async def _native(call: Callable[..., Any], *arguments: Any) -> Any:
    """A call into the library, in a thread; what it raises becomes an answer."""
    try:
        return await asyncio.to_thread(call, *arguments)
    except Exception as error:
        raise Refused(troubles.problem(str(error))) from error
