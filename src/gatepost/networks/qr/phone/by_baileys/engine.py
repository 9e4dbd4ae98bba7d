"""The engine: one Node process for all links. Answers its requests from the store and passes its events to sessions."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from gatepost.model.ids import floor_id, message_id
from gatepost.networks.qr.phone.by_baileys import events
from gatepost.networks.qr.phone.by_baileys.calls import BaileysPhone
from gatepost.networks.qr.phone.by_baileys.devices import DeviceStore
from gatepost.networks.qr.phone.by_baileys.node import Fields, Node
from gatepost.networks.qr.phone.by_baileys.scratch import Scratch
from gatepost.networks.qr.phone.engine import EngineError, EngineListener
from gatepost.networks.qr.phone.jids import parse_jid
from gatepost.networks.qr.phone.protos import neo
from gatepost.networks.qr.phone.translate_link import connection
from gatepost.networks.qr.phone.translate_message import kind_of, unwrap
from gatepost.networks.qr.phone.translate_message import message as translate_message

Frame = dict[str, Any]
SENT_KEPT = timedelta(days=14)
_FORGET_EVERY = 3600.0
_ORDER_WITHIN = 10.0
_CLOSE_WITHIN = 2.0
_CLOSED = "The link is closed."


class LinkSession:
    """One connection: its device, its callbacks, and the result when it ends."""

    def __init__(self, device: str | None, to: EngineListener) -> None:
        self.device = device
        self.to = to
        self.over: asyncio.Future[str | Frame] = asyncio.get_running_loop().create_future()
        self.asks: set[asyncio.Task[None]] = set()
        self.node: Node | None = None  # the process that holds it
        self.closing = False  # later events are ignored, except that a phone was linked
        self.gone = asyncio.Event()  # the connection is closed in the process
        self.ended = False  # the phone removed the device
        self.forgetting: asyncio.Task[None] | None = None  # deletes the keys of a removed device
        self.forget_at = 0.0
        self.stirred = asyncio.Event()  # an event arrived, or the connection ended

    def end(self, how: str | Frame) -> None:
        self.stirred.set()
        if not self.over.done():
            self.over.set_result(how)


class Baileys:
    """The library, in a Node process that is started with the first link."""

    own_ids = True
    patience = 60.0  # seconds until the first event of a link; the library itself gives up on an address after 20

    def __init__(
        self, start: Callable[[], Awaitable[Node]], devices: DeviceStore, scratch: Scratch | None = None
    ) -> None:
        self._start = start
        self._devices = devices
        self._scratch = scratch
        self._lives: dict[str, LinkSession] = {}
        self._node: Node | None = None
        self._starting = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def holds(self, device: str) -> bool:
        return await self._devices.credentials(device) is not None

    async def run(self, life: str, device: str | None, to: EngineListener) -> str | Frame:
        one = self._lives[life] = LinkSession(device, to)  # first: it may be stopped before it connects
        try:
            async with asyncio.timeout(self.patience):
                # Also without a device: a store that cannot be reached must fail before a code is scanned.
                await self._open(life, one, await self._devices.credentials(device or ""))
                await one.stirred.wait()
            return await one.over
        except TimeoutError:
            # There was no code, no connection and no error: the link is opened again.
            return connection("disconnected", "network_gone", "The library did not connect in time.")
        finally:
            if one.forgetting:  # also if it was stopped meanwhile: nothing else would delete the keys
                await asyncio.wait({one.forgetting})
            await self._let_go(life, one)
            del self._lives[life]
            for task in one.asks:
                task.cancel()
            one.gone.set()

    async def _open(self, life: str, one: LinkSession, credentials: str | None) -> None:
        node = await self.node()
        if not one.over.done():
            one.node = node
            await node.ask("open", life, creds=credentials)

    async def _let_go(self, life: str, one: LinkSession) -> None:
        """Close a link in the process, which keeps it until then, even if it has ended."""
        one.closing = True
        if one.node is None:
            return
        with suppress(EngineError, TimeoutError):  # the process has ended, and with it the connection
            # The process stores its last keys before it answers. Not asyncio.timeout: see Node.close.
            await asyncio.wait_for(one.node.ask("close", life), _CLOSE_WITHIN)

    async def stop(self, life: str) -> None:
        one = self._lives.get(life)
        if one is None:
            return
        one.closing = True
        one.end("")
        with suppress(TimeoutError):
            await asyncio.wait_for(one.gone.wait(), _CLOSE_WITHIN * 2)

    async def stop_all(self) -> None:
        if self._node:
            await self._node.close()
        if self._scratch:
            self._scratch.remove()
        await self._devices.close()

    def phone(self, life: str) -> BaileysPhone:
        return BaileysPhone(life, self.node)

    async def node(self) -> Node:
        """Return the running process; start it if there is none."""
        async with self._starting:
            if self._node is None or self._node.gone.is_set():
                self._node = await self._start()
                for work in (self._listen(self._node), self._node.watch()):
                    task = asyncio.create_task(work)
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
            return self._node

    async def _listen(self, node: Node) -> None:
        try:
            await node.listen(lambda frame: self._take(node, frame))
        finally:
            for one in self._lives.values():
                if one.node is node:
                    one.end("The program that holds the links ended.")
            await node.close()

    # -- requests of the process -----------------------------------------------------------------------------------

    def _take(self, node: Node, frame: Fields) -> None:
        one = self._lives.get(frame["life"])
        if "q" not in frame:
            if one and (not one.closing or frame["update"] == "paired"):  # a phone that is linked now must be known
                one.stirred.set()
                self._handle(one, frame)
        elif one is None:
            node.answer(frame["q"], error=_CLOSED)
        else:
            task = asyncio.create_task(self._answer(node, one, frame))
            one.asks.add(task)
            task.add_done_callback(one.asks.discard)

    async def _answer(self, node: Node, one: LinkSession, frame: Fields) -> None:
        try:
            node.answer(frame["q"], ok=await self._do(one, frame))
        except asyncio.CancelledError:
            node.answer(frame["q"], error=_CLOSED)
            raise
        except Exception as error:
            node.answer(frame["q"], error=str(error) or repr(error))

    async def _do(self, one: LinkSession, frame: Fields) -> Any:
        match frame["ask"]:
            case "message":
                return await one.to.store(await self._with_lines(_understood(events.message, frame), frame["life"]))
            case "receipts":
                return await one.to.store(_understood(events.receipts, frame["list"]))
            case "creds" if not one.ended:
                one.device = str(frame["device"])
                return await self._devices.keep(one.device, frame["value"])
            case "get" if one.device:
                return await self._devices.get(one.device, frame["kind"], frame["ids"])
            case "set" if one.device:
                await self._forget_sent(one)
                return await self._devices.put(one.device, [tuple(row) for row in frame["rows"]])
        raise EngineError(_CLOSED)

    async def _forget_sent(self, one: LinkSession) -> None:
        """Delete old sent messages, at most once per hour. They are kept for resends and for votes in polls."""
        if time.monotonic() >= one.forget_at and one.device:
            one.forget_at = time.monotonic() + _FORGET_EVERY
            oldest = message_id(floor_id(datetime.now(UTC) - SENT_KEPT))
            await self._devices.forget_sent(one.device, oldest)

    async def _with_lines(self, event: Any, life: str) -> Any:
        """Return an order with its items, which have to be requested: the message holds only their reference."""
        said = None if isinstance(event, list) else unwrap(event.Message)[0]
        if said is None or kind_of(said) != "orderMessage":
            return event
        order, frames = said.orderMessage, translate_message(event, int(time.time()))
        try:
            async with asyncio.timeout(_ORDER_WITHIN):
                node = await self.node()
                details = await node.ask("order", life, id=order.orderID, token=order.token)
            lines = events.order_lines(details)
        except (EngineError, TimeoutError, KeyError, TypeError, ValueError) as error:
            print(f"order without its lines: {error!r}", flush=True)  # noqa: T201
            return event
        for frame in frames:
            if frame["type"] == "order":
                frame["content"]["order"]["items"] = lines
        return frames

    # -- events of the process -------------------------------------------------------------------------------------

    def _handle(self, one: LinkSession, frame: Fields) -> None:
        now, to = int(time.time()), one.to
        match frame["update"]:
            case "code":
                to.code(frame["code"])
            case "paired":
                to.event(neo.PairStatus(ID=parse_jid(frame["device"]), Status=neo.PairStatus.SUCCESS, **_UNNAMED))
            case "open":
                to.event(neo.Connected(status=True))
            case "lock":
                to.event([events.lock(frame["on"], frame["until"])])
            case "upserted":
                to.event(events.message(frame) if frame["message"] else events.unreadable(frame))
            case "people":
                to.event(events.people(frame["list"], now))
            case "labels":
                to.event(events.labels(frame["list"], now))
            case "calls":
                to.event(events.calls(frame["list"]))
            case "closed":
                self._close(one, events.closed(frame["code"], frame["words"]))

    def _close(self, one: LinkSession, how: Frame | None) -> None:
        if how is None:
            one.to.login("timeout")
        elif how["state"] == "logged_out" and one.device:
            one.forgetting = asyncio.create_task(self._forget(one, how))
        else:
            one.end(how)

    async def _forget(self, one: LinkSession, how: Frame) -> None:
        """Delete the keys of a device that the phone removed, then end the connection."""
        device, one.device, one.ended = one.device, None, True  # no more keys are written for it
        under_way = list(one.asks)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        try:
            await self._devices.forget(device or "")
        finally:
            one.end(how)


def _understood(make: Callable[[Any], Any], said: Any) -> Any:
    """Convert a message or receipts; skip invalid ones. Without an acknowledgement they would be sent again forever."""
    try:
        return make(said)
    except Exception as error:
        print(f"update skipped: {type(error).__name__}: {error}", flush=True)  # noqa: T201
        return []


_UNNAMED = {"BusinessName": "", "Platform": ""}
