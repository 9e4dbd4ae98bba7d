"""The requests of the gateway to a session, one function each. They return the fields of the answer."""

import asyncio
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from gatepost.networks.qr.phone import build_message, handles, request_errors
from gatepost.networks.qr.phone.engine import EngineError
from gatepost.networks.qr.phone.jids import format_jid, jid, jid_of, person
from gatepost.networks.qr.phone.session import DeviceSession
from gatepost.networks.qr.phone.wire import Fields, RequestRefused

PIECE = 256 << 10
FIRST_CODE_WITHIN = 30.0
_POLLS = 1000
_PEOPLE = 10_000
_UPLOADED_AS = {"sticker": "image"}
T = TypeVar("T")


async def send(session: DeviceSession, frame: Fields) -> Fields:
    """Send a message. The answer holds its id, which the engine may have chosen."""
    to = await _recipient(session, frame["to"])
    content = await _fitting(session, frame["type"], frame["content"])
    sent = await _asked(session.phone.send(to, _built(session, frame | {"content": content}, to), str(frame["id"])))
    if frame["type"] == "poll":
        session.polls[sent.id] = build_message.option_hashes(content["poll"]["options"])
        while len(session.polls) > _POLLS:
            session.polls.pop(next(iter(session.polls)))
    return {"ok": True, "id": sent.id, "at": sent.at}


async def edit(session: DeviceSession, frame: Fields) -> Fields:
    to = await _recipient(session, frame["to"])
    content = await _fitting(session, frame["type"], frame["content"])
    said = _built(session, frame | {"content": content}, to)
    await _asked(session.phone.send(to, build_message.edit(frame["id"], to, said, int(time.time() * 1000)), None))
    return {"ok": True}


async def delete(session: DeviceSession, frame: Fields) -> Fields:
    to = await _recipient(session, frame["to"])
    await _asked(session.phone.send(to, build_message.revoke(frame["id"], to), None))
    return {"ok": True}


async def read(session: DeviceSession, frame: Fields) -> Fields:
    _up(session)
    await _asked(session.phone.read(jid_of(frame["from"]), frame["ids"]))
    return {"ok": True}


async def typing(session: DeviceSession, frame: Fields) -> Fields:
    _up(session)
    await _asked(session.phone.typing(jid_of(frame["to"]), bool(frame["on"])))
    return {"ok": True}


async def check(session: DeviceSession, frame: Fields) -> Fields:
    _up(session)
    return {"ok": True, "known": [who | {"phone": asked} for asked, who in await _known(session, frame["phones"])]}


async def pair(session: DeviceSession, frame: Fields) -> Fields:
    """Request a code to type. The network issues one only after it has sent codes to scan."""
    try:
        async with asyncio.timeout(FIRST_CODE_WITHIN):
            await session.waiting.wait()
    except TimeoutError:
        raise RequestRefused(request_errors.not_up("The network was not reached in time.")) from None
    return {"ok": True, "code": await _asked(session.phone.pair(frame["phone"]))}


async def put(session: DeviceSession, mime_type: str, content: bytes) -> Fields:
    """Upload a file as the kind that fits its MIME type."""
    _up(session)
    kind = handles.kind_of(mime_type)
    return {"ok": True, "handle": await _upload(session, kind, mime_type, content)}


async def get(session: DeviceSession, frame: Fields) -> list[Fields]:
    """Download a file and return it in parts."""
    _up(session)
    kind, message = _unpacked(frame["handle"])
    file = getattr(message, handles.FIELDS[kind])
    if file.fileLength > frame["most"]:
        raise RequestRefused(request_errors.unfit(f"The file has {file.fileLength} bytes, more than {frame['most']}."))
    file.fileLength = file.fileLength or frame["most"]  # the limit of the download
    whole = await _asked(session.phone.download(kind, message))
    pieces = [whole[start : start + PIECE] for start in range(0, max(len(whole), 1), PIECE)]
    answers: list[Fields] = [{"data": b64encode(piece).decode(), "last": False} for piece in pieces]
    answers[-1] |= {"ok": True, "last": True, "mime": file.mimetype}
    return answers


async def logout(session: DeviceSession, _frame: Fields) -> Fields:
    """Unlink the phone. The answer follows the report of it, and the end of the connection."""
    _up(session)
    await _asked(session.phone.logout())
    await session.end_unlinked()
    return {"ok": True}


COMMANDS: dict[str, Callable[[DeviceSession, Fields], Awaitable[Fields]]] = {
    "send": send,
    "edit": edit,
    "delete": delete,
    "read": read,
    "typing": typing,
    "check": check,
    "pair": pair,
    "logout": logout,
}


def _up(session: DeviceSession) -> None:
    """Reject a request while the link is not connected: the library's calls would end the process."""
    if not session.connected:
        raise RequestRefused(request_errors.not_up())


def _built(session: DeviceSession, frame: Fields, to: Any) -> Any:
    quote = frame.get("quote")
    if quote and quote.get("from_me") and session.me is not None:
        frame = frame | {"quote": {**quote, "participant": format_jid(jid(session.me.JID.User, session.me.JID.Server))}}
    try:
        return build_message.build(frame["type"], frame["content"], to, frame)
    except build_message.UnsupportedContent as error:
        raise RequestRefused(request_errors.unfit(str(error))) from error


async def _recipient(session: DeviceSession, who: dict[str, str]) -> Any:
    """Return the JID of a recipient. A phone number is looked up once, as some have another form on the network."""
    _up(session)
    if not who.get("phone"):
        return jid_of(who)
    found = session.people.get(who["phone"])
    if found is None:
        known = await _known(session, [who["phone"]])
        if not known:
            raise RequestRefused(request_errors.not_on_network(who["phone"]))
        found = session.people[who["phone"]] = jid_of(known[0][1])
        while len(session.people) > _PEOPLE:
            session.people.pop(next(iter(session.people)))
    return found


async def _known(session: DeviceSession, phones: list[str]) -> list[tuple[str, dict[str, str]]]:
    try:
        found = await session.phone.known(phones)
    except Exception as error:
        # Only the lookup may have been sent, not the message.
        raise RequestRefused(request_errors.problem(str(error)) | {"sure": True}) from error
    return [(asked, person(jid_)) for asked, jid_ in found]


async def _fitting(session: DeviceSession, type_: str, content: Fields) -> Fields:
    """Return the content with a file whose keys fit its type. An image sent as a document is uploaded again."""
    if type_ not in handles.FIELDS:
        return content
    handle = (content.get("media") or {}).get("handle", "")
    kind, message = _unpacked(handle)
    if handles.keys_fit(kind, type_):
        return content
    whole = await _asked(session.phone.download(kind, message))
    mime_type = getattr(message, handles.FIELDS[kind]).mimetype
    return content | {"media": {"handle": await _upload(session, type_, mime_type, whole)}}


async def _upload(session: DeviceSession, kind: str, mime_type: str, content: bytes) -> str:
    done = await _asked(session.phone.upload(_UPLOADED_AS.get(kind, kind), content))
    return handles.uploaded(kind, mime_type, done)


def _unpacked(handle: str) -> tuple[str, Any]:
    try:
        return handles.unpack(handle)
    except handles.BadHandle:
        raise RequestRefused(request_errors.unfit("The file's handle is not valid for this link.")) from None


async def _asked(work: Awaitable[T]) -> T:
    """Await a call into the library, and turn its exceptions into an error answer."""
    try:
        return await work
    except EngineError as error:
        raise RequestRefused(request_errors.of_engine(error)) from error
    except Exception as error:
        raise RequestRefused(request_errors.problem(str(error))) from error
