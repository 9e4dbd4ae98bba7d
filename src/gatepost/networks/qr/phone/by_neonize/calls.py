"""The package's own client as a `Phone`. Its calls block, so they run in threads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from gatepost.networks.qr.phone.by_neonize.files import fetch_file
from gatepost.networks.qr.phone.engine import EngineSent, PollVote, Uploaded
from gatepost.networks.qr.phone.handles import FIELDS

_KINDS = {"image": "MediaImage", "video": "MediaVideo", "audio": "MediaAudio", "document": "MediaDocument"}
_COMPOSING, _PAUSED, _TEXT = 0, 1, 0
# A call waits for the network for a minute or more. Without these limits, a few links that get no answer block all.
_THREADS = ThreadPoolExecutor(512, "calls")
_AT_ONCE = 8  # calls of one link that wait for the network


class NeonizePhone:
    """One linked phone. `words` is the package's module of enums; `files` replaces the network's hosts in tests."""

    def __init__(self, client: Any, words: Any, files: str = "") -> None:
        self._client = client
        self._words = words
        self._files = files
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def me(self) -> Any:
        return await _in_thread(self._client.get_me)

    async def send(self, to: Any, said: Any, id_: str | None) -> EngineSent:
        """Send a message. The library chooses its id."""
        sent = await self._call(self._client.send_message, to, said)
        return EngineSent(sent.ID, sent.Timestamp)

    async def known(self, phones: list[str]) -> list[tuple[str, Any]]:
        try:
            rows = await self._call(self._client.is_on_whatsapp, *(f"+{phone}" for phone in phones))
        except Exception as error:
            if "returned nothing" in str(error):
                return []
            raise
        return [(row.Query.lstrip("+"), row.JID) for row in rows if row.IsIn]

    async def read(self, chat: Any, ids: list[str]) -> None:
        word = self._words.ReceiptType.READ
        await self._call(self._client.mark_read, *ids, chat=chat, sender=chat, receipt=word)

    async def typing(self, chat: Any, on: bool) -> None:
        state = self._words.ChatPresence(_COMPOSING if on else _PAUSED)
        await self._call(self._client.send_chat_presence, chat, state, self._words.ChatPresenceMedia(_TEXT))

    async def pair(self, phone: str) -> str:
        code = await self._call(self._client.PairPhone, phone, True, client_type=self._words.ClientType.CHROME)
        return str(code)

    async def upload(self, kind: str, content: bytes) -> Uploaded:
        done = await self._call(self._client.upload, content, self._words.MediaType[_KINDS[kind]])
        keys = (done.MediaKey, done.FileSHA256, done.FileEncSHA256)
        return Uploaded(done.url, done.DirectPath, *keys, size=done.FileLength)

    async def download(self, kind: str, said: Any) -> bytes:
        return await fetch_file(kind, getattr(said, FIELDS[kind]), self._files)

    async def vote(self, event: Any) -> PollVote:
        opened = await _in_thread(self._client.decrypt_poll_vote, event)
        return PollVote(list(opened.selectedOptions))

    async def logout(self) -> None:
        await self._call(self._client.logout)

    async def _call(self, call: Callable[..., Any], *arguments: Any, **names: Any) -> Any:
        """Make a call that waits for the network."""
        async with self._free:
            return await _in_thread(call, *arguments, **names)


async def _in_thread(call: Callable[..., Any], *arguments: Any, **names: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(_THREADS, partial(call, *arguments, **names))
