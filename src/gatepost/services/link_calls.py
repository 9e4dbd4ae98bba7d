"""Calls over the link of a phone, which one process holds: others ask it, by notifications that are never stored.

speak ─► the channel's network, here
      ─► RemoteLink: LinkCall ─► all processes ─► the one with the link makes the call
                     LinkAnswer ◄─ when it begins, and with the result
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol
from uuid import UUID, uuid4

import msgspec

from gatepost.background import log_failure
from gatepost.model.number_status import CONNECTED
from gatepost.model.person import Person
from gatepost.networks.base import CallFailed, Network, NetworkActions, NetworkError
from gatepost.store.channels import ChannelConfig
from gatepost.store.notifications import LINK_ANSWERS, LINK_CALLS, TextPiece, read_notice, send_text
from gatepost.store.pool import Database

_BEGUN_WITHIN = 5.0  # seconds until another process has begun a call
_ENDED_WITHIN = 40.0  # and until it has ended: longer than a call over a link may take
_AT_ONCE = 100  # calls that this process makes for others
_INCOMPLETE = 1_000  # texts of which pieces are missing


class LinkCall(msgspec.Struct, frozen=True):
    """A call that the process with the link makes."""

    channel_id: UUID
    action: Literal["read", "edit", "delete", "check"]
    person: Person = Person()
    network_id: str = ""
    type: str = ""
    content: str = ""
    earlier: tuple[str, ...] = ()
    typing: bool = False
    phones: tuple[str, ...] = ()


class LinkAnswer(msgspec.Struct, frozen=True):
    """The result of a call, or that it has begun."""

    begun: bool = False
    people: tuple[Person, ...] = ()
    error: NetworkError | None = None
    retry: bool = False
    status: int = 0


class LinkHolder(Protocol):
    """Keeps the link of a channel in this process."""

    @property
    def network(self) -> NetworkActions | None:
        """None while it is not connected."""


class LinkCalls:
    """Makes calls over links: here, or by the process that holds the link."""

    def __init__(
        self,
        db: Database,
        find_holder: Callable[[UUID], LinkHolder | None],
        open_network: Callable[[ChannelConfig], Network | None],
    ) -> None:
        self._db = db
        self._find_holder = find_holder
        self._open_network = open_network
        self._pieces: dict[UUID, dict[int, str]] = {}
        self._asked: dict[UUID, asyncio.Queue[LinkAnswer]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    async def speak(self, config: ChannelConfig) -> NetworkActions | None:
        """Return a channel's network, or the way to it; None if no process is connected to it."""
        if holder := self._find_holder(config.id):
            return holder.network
        network: NetworkActions | None = self._open_network(config)
        if network is None and config.connection in CONNECTED:
            return RemoteLink(self, config.id)
        return network

    async def ask(self, call: LinkCall) -> LinkAnswer:
        """Let the process with the link make a call. Raise CallFailed if it failed, or if no process answers."""
        id_, answers = uuid4(), asyncio.Queue[LinkAnswer]()
        self._asked[id_] = answers
        try:
            await send_text(self._db, LINK_CALLS, id_, msgspec.json.encode(call).decode())
            answer = await asyncio.wait_for(answers.get(), _BEGUN_WITHIN)
            if answer.begun:
                answer = await asyncio.wait_for(answers.get(), _ENDED_WITHIN)
        except TimeoutError:
            answer = LinkAnswer(error=NetworkError(0, "The process that holds the link does not answer."), retry=True)
        finally:
            del self._asked[id_]
        if answer.error is not None:
            raise CallFailed(answer.error, retry=answer.retry, status=answer.status)
        return answer

    def receive(self, name: str, piece: TextPiece) -> None:
        """Receive a part of a call or of an answer."""
        if name == LINK_ANSWERS and piece.id not in self._asked:
            return
        parts = self._pieces.setdefault(piece.id, {})
        parts[piece.part] = piece.text
        if len(parts) < piece.parts:
            if len(self._pieces) > _INCOMPLETE:
                del self._pieces[next(iter(self._pieces))]
            return
        del self._pieces[piece.id]
        text = "".join(parts[part] for part in sorted(parts))
        if name == LINK_CALLS:
            if call := read_notice(text, LinkCall):
                self._begin(piece.id, call)
        elif answer := read_notice(text, LinkAnswer):
            self._asked[piece.id].put_nowait(answer)

    def _begin(self, id_: UUID, call: LinkCall) -> None:
        """Make a call for another process, if this one has the link."""
        holder = self._find_holder(call.channel_id)
        if holder is None or holder.network is None:
            return
        task = asyncio.create_task(self._answer(id_, call, holder.network))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, id_: UUID, call: LinkCall, network: NetworkActions) -> None:
        try:
            await self._send(id_, await self._result(id_, call, network))
        except Exception as error:
            log_failure("answer to another process", error, channel=call.channel_id.hex)

    async def _result(self, id_: UUID, call: LinkCall, network: NetworkActions) -> LinkAnswer:
        if len(self._answering) > _AT_ONCE:
            return LinkAnswer(error=NetworkError(0, "Too many requests are in progress."), retry=True)
        await self._send(id_, LinkAnswer(begun=True))
        try:
            return LinkAnswer(people=tuple(await _make(call, network)))
        except CallFailed as failed:
            return LinkAnswer(error=failed.error, retry=failed.retry, status=failed.status)
        except Exception as error:
            log_failure("call for another process", error, channel=call.channel_id.hex)
            return LinkAnswer(error=NetworkError(0, "The process that holds the link could not make the call."))

    async def _send(self, id_: UUID, answer: LinkAnswer) -> None:
        await send_text(self._db, LINK_ANSWERS, id_, msgspec.json.encode(answer).decode())


async def _make(call: LinkCall, network: NetworkActions) -> Sequence[Person]:
    editor, check = network.editor, network.number_check
    if call.action == "read":
        await network.mark_read(call.network_id, call.person, earlier=call.earlier, typing=call.typing)
    elif call.action == "edit" and editor:
        await editor.edit(call.network_id, call.person, call.type, call.content)
    elif call.action == "delete" and editor:
        await editor.delete(call.network_id, call.person)
    elif call.action == "check" and check:
        return await check.check(list(call.phones))
    else:
        raise CallFailed(NetworkError(0, "The network of this channel cannot do this."), retry=False)
    return ()


class RemoteLink:
    """The network of a channel whose link another process holds."""

    def __init__(self, calls: LinkCalls, channel_id: UUID) -> None:
        self._calls = calls
        self._channel_id = channel_id

    @property
    def editor(self) -> "RemoteLink":
        return self

    @property
    def number_check(self) -> "RemoteLink":
        return self

    async def mark_read(
        self, network_id: str, person: Person, *, earlier: Sequence[str] = (), typing: bool = False
    ) -> None:
        await self._ask("read", network_id=network_id, person=person, earlier=tuple(earlier), typing=typing)

    async def edit(self, network_id: str, person: Person, type_: str, content: str) -> None:
        await self._ask("edit", network_id=network_id, person=person, type=type_, content=content)

    async def delete(self, network_id: str, person: Person) -> None:
        await self._ask("delete", network_id=network_id, person=person)

    async def check(self, phones: list[str]) -> list[Person]:
        return list((await self._ask("check", phones=tuple(phones))).people)

    async def _ask(self, action: Literal["read", "edit", "delete", "check"], **fields: Any) -> LinkAnswer:
        return await self._calls.ask(LinkCall(self._channel_id, action, **fields))
