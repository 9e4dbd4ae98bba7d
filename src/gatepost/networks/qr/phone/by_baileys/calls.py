"""One linked phone, reached through the Node process. Files are exchanged by path, in a temporary folder."""

import asyncio
import tempfile
from base64 import b64encode
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from gatepost.model.ids import message_id, new_id
from gatepost.networks.qr.phone.by_baileys.node import Node
from gatepost.networks.qr.phone.engine import EngineSent, PollVote, Uploaded
from gatepost.networks.qr.phone.handles import FIELDS
from gatepost.networks.qr.phone.jids import format_jid, parse_jid
from gatepost.networks.qr.phone.protos import e2e, neo
from gatepost.networks.qr.phone.translate_message import unwrap

_EDIT, _REVOKE = "1", "7"  # the network's codes for a change to an earlier message
_LARGEST_FILE = 100 << 20  # if the message does not state the length
_POLLS = ("pollCreationMessage", "pollCreationMessageV2", "pollCreationMessageV3")


class BaileysPhone:
    """The phone of one connection of a link."""

    def __init__(self, life: str, node: Callable[[], Awaitable[Node]]) -> None:
        self._life = life
        self._node = node

    async def me(self) -> Any:
        own = await self._ask("me")
        jid, lid = parse_jid(own["id"] or "@"), parse_jid(own["lid"] or "@")
        names = {"Platform": "", "BussinessName": "", "PushName": own["name"], "Initialized": True}
        return neo.Device(JID=jid, LID=lid, **names)

    async def send(self, to: Any, said: Any, id_: str | None) -> EngineSent:
        message = b64encode(said.SerializeToString()).decode()
        id_ = id_ or message_id(new_id(datetime.now(UTC)))
        sent = await self._ask("send", to=format_jid(to), message=message, id=id_, extra=_extra(said))
        return EngineSent(sent["id"], sent["at"])

    async def known(self, phones: list[str]) -> list[tuple[str, Any]]:
        return [(one["phone"], parse_jid(one["jid"])) for one in await self._ask("known", phones=phones)]

    async def read(self, chat: Any, ids: list[str]) -> None:
        await self._ask("read", chat=format_jid(chat), ids=ids)

    async def typing(self, chat: Any, on: bool) -> None:
        await self._ask("typing", chat=format_jid(chat), on=on)

    async def pair(self, phone: str) -> str:
        code = str(await self._ask("pair", phone=phone))
        return f"{code[:4]}-{code[4:]}"  # the format that the phone shows

    async def upload(self, kind: str, content: bytes) -> Uploaded:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file")
            await asyncio.to_thread(path.write_bytes, content)
            done = await self._ask("upload", kind=kind, path=str(path))
        return msgspec.convert(done, Uploaded)  # decodes base64

    async def download(self, kind: str, said: Any) -> bytes:
        file = getattr(said, FIELDS[kind])
        place = {"key": b64encode(file.mediaKey).decode(), "direct_path": file.directPath, "url": file.URL}
        place["most"] = file.fileLength or _LARGEST_FILE
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file")
            await self._ask("download", kind=kind, file=place, path=str(path))
            return await asyncio.to_thread(path.read_bytes)

    async def vote(self, event: Any) -> PollVote:
        said, _ = unwrap(event.Message)
        update, source = said.pollUpdateMessage, event.Info.MessageSource
        sealed = {"payload": update.vote.encPayload, "iv": update.vote.encIV}
        voters = [format_jid(jid) for jid in (source.Sender, source.SenderAlt) if jid.User]
        vote = await self._ask(
            "vote",
            poll=update.pollCreationMessageKey.ID,
            voters=voters,
            **{name: b64encode(value).decode() for name, value in sealed.items()},
        )
        return msgspec.convert(vote, PollVote)  # decodes base64

    async def logout(self) -> None:
        await self._ask("logout")

    async def _ask(self, op: str, **fields: Any) -> Any:
        return await (await self._node()).ask(op, self._life, **fields)


def _extra(said: Any) -> dict[str, Any]:
    """Return the attributes of a message's stanza that do not follow from its content."""
    inner, _ = unwrap(said)
    if inner.HasField("protocolMessage"):
        revoked = inner.protocolMessage.type == e2e.ProtocolMessage.REVOKE
        return {"edit": _REVOKE if revoked else _EDIT}
    return {"poll": True} if any(inner.HasField(name) for name in _POLLS) else {}
