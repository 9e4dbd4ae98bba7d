"""The link of one channel, held by a driver.

driver.link(session) ─► open ─► updates … ack … ─► close (the phone stays linked) | logout
                          │
                          ╰─► send, edit, delete, mark_read, typing, check, put_media, get_media

A link ends with its connection to the driver: every request fails, and `updates` ends with a disconnection.
"""

import asyncio
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from gatepost.networks.base import (
    CallFailed,
    ConnectionUpdate,
    NetworkError,
    Person,
    QuotedRef,
    Receipt,
    SendAccepted,
    SendNotMade,
    SendUnknown,
)
from gatepost.networks.qr import frames
from gatepost.networks.qr.driver_connection import ConnectionLost, DriverConnection, PendingCall
from gatepost.networks.qr.reasons import reason_of, refused
from gatepost.networks.qr.translate import Numbered, updates_of

T = TypeVar("T")
MAX_WAITING = 10_000  # events in memory; the driver keeps those that were not acknowledged


class Deadlines(msgspec.Struct, frozen=True):
    """Time limits of requests, in seconds."""

    open: float = 90
    send: float = 60
    call: float = 30
    transfer: float = 300


class Link:
    """The gateway's end of one channel's link."""

    def __init__(
        self, session: str, find_connection: Callable[[], Awaitable[DriverConnection]], deadlines: Deadlines
    ) -> None:
        self.session = session
        self.state = "disconnected"
        self.device: str | None = None  # once a phone is linked; to be passed to the next `open`
        self.phone: str | None = None  # the number of the linked phone
        self.own_ids = True  # whether the network recognises a resend with the same id
        self._find_connection = find_connection
        self._deadlines = deadlines
        self._connection: DriverConnection | None = None
        self._waiting: asyncio.Queue[list[Numbered] | None] = asyncio.Queue()  # the updates of each event
        self._ended = False

    # -- opening and closing ---------------------------------------------------------------------------------------

    async def open(self, phone: str, device: str | None = None) -> None:
        """Open the link: a linked device connects; without one, the driver sends codes to scan."""
        self.device = device
        try:
            async with asyncio.timeout(self._deadlines.open):
                self._connection = await self._find_connection()
                self._connection.attach(self.session, self)
                answer = await self._ask("open", phone=phone, **({"device": device} if device else {}))
        except TimeoutError:
            raise _failed("The driver of the link did not answer in time.") from None
        self.own_ids = answer.own_ids

    async def pair(self, phone: str) -> str:
        """Request a code to type on the phone instead of scanning one."""
        answer = await self._call("pair", phone=phone)
        if not answer.code:
            raise _failed("The driver of the link gave no code.")
        return answer.code

    async def logout(self) -> None:
        """Unlink the phone. The link then ends as logged out, whether the driver also reports it or not."""
        await self._call("logout")
        if self.state != "logged_out":
            self.take(frames.ConnectionFrame(session=self.session, state="logged_out", reason="logged_out"))

    async def close(self) -> None:
        """Close the connection; the phone stays linked."""
        with suppress(CallFailed):
            await self._call("close")
        if self._connection:
            self._connection.detach(self.session, self)
        self._finish()

    # -- updates ---------------------------------------------------------------------------------------------------

    async def updates(self) -> AsyncIterator[Numbered]:
        """Yield the updates of the link, each with its number to acknowledge, if it has one."""
        while (updates := await self._waiting.get()) is not None:
            for update in updates:
                yield update

    async def ack(self, seq: int) -> None:
        """Acknowledge everything up to this number: it is stored. The link may have ended meanwhile."""
        if self._connection:
            with suppress(ConnectionLost):
                await self._connection.put({"op": "ack", "session": self.session, "seq": seq})

    def take(self, event: frames.Event) -> None:
        """Receive an event from the connection."""
        if self._ended:
            return
        if self._waiting.qsize() >= MAX_WAITING:
            self._disconnect("More updates arrived than were read; those not acknowledged are sent again.")
            return
        if isinstance(event, frames.LinkedFrame):
            self.device, self.phone = event.device or self.device, event.phone or self.phone
        updates = updates_of(event, self.state)
        for _, update in updates:
            if isinstance(update, ConnectionUpdate):
                self._set_state(update.state)
        self._waiting.put_nowait(updates)

    def _set_state(self, state: str) -> None:
        self.state = state
        if state == "logged_out":  # the device no longer exists; a new one has to be linked
            self.device = None

    def lose(self) -> None:
        """End the link after the connection to the driver was lost."""
        self._disconnect(reason_of("driver_gone").text)

    def _disconnect(self, details: str) -> None:
        if not self._ended:
            self.state = "disconnected"
            self._waiting.put_nowait([(None, ConnectionUpdate("disconnected", "driver_gone", details))])
            if self._connection:
                self._connection.detach(self.session, self)
        self._finish()

    def _finish(self) -> None:
        if not self._ended:
            self._ended = True
            self._waiting.put_nowait(None)

    # -- messages --------------------------------------------------------------------------------------------------

    async def send(
        self,
        id_: str,
        person: Person,
        type_: str,
        content: dict[str, Any],
        *,
        quote: QuotedRef | None = None,
        target: QuotedRef | None = None,
    ) -> Receipt:
        """Send a message with an id of ours; never raises."""
        fields: dict[str, Any] = {"id": id_, "to": _address(person), "type": type_, "content": content}
        fields["quote"] = _key(quote) | {"text": quote.text} if quote else None
        fields["target"] = _key(target) if target else None
        if self._connection is None or self._ended:
            return SendNotMade(reason_of("driver_gone").text)
        try:
            async with asyncio.timeout(self._deadlines.send):
                with self._connection.call() as call:
                    await call.send("send", session=self.session, **fields)
                    return _receipt(await call.answer(), id_)
        except TimeoutError:
            return SendUnknown("The link did not answer in time.")
        except ValueError as error:
            return refused(413, "Message too large for a link", str(error))
        except ConnectionLost as gone:
            return SendUnknown(str(gone)) if gone.sent else SendNotMade(str(gone))

    async def edit(self, network_id: str, person: Person, type_: str, content: dict[str, Any]) -> None:
        """Change a message that was sent."""
        await self._call("edit", id=network_id, to=_address(person), type=type_, content=content)

    async def delete(self, network_id: str, person: Person) -> None:
        """Delete a message that was sent, for everyone."""
        await self._call("delete", id=network_id, to=_address(person))

    async def mark_read(self, network_ids: list[str], person: Person) -> None:
        """Mark a person's messages as read."""
        await self._call("read", ids=network_ids, **{"from": _address(person)})

    async def typing(self, person: Person, on: bool) -> None:
        """Show a person that a reply is being typed, or no longer."""
        await self._call("typing", to=_address(person), on=on)

    async def check(self, phones: list[str]) -> list[Person]:
        """Return the people among these numbers who are on the network."""
        answer = await self._call("check", phones=phones)
        return answer.known

    # -- files -----------------------------------------------------------------------------------------------------

    async def put_media(self, content: bytes, mime_type: str, filename: str | None) -> str:
        """Upload a file in parts and return its handle."""
        named = {"filename": filename} if filename else {}
        head = {"session": self.session, "mime": mime_type, "size": len(content), **named}

        async def upload(call: PendingCall) -> frames.FrameAnswer:
            for start in range(0, max(len(content), 1), frames.MAX_PIECE):
                piece = content[start : start + frames.MAX_PIECE]
                last = start + frames.MAX_PIECE >= len(content)
                await call.send("put", **head, data=b64encode(piece).decode(), last=last)
            return await call.answer()

        answer = _checked(await self._within(self._deadlines.transfer, upload))
        if not answer.handle:
            raise _failed("The driver of the link gave the file no handle.")
        return answer.handle

    async def get_media(self, handle: str, most: int) -> bytes:
        """Download a file in parts, of at most `most` bytes."""

        async def download(call: PendingCall) -> bytes:
            await call.send("get", session=self.session, handle=handle, most=most)
            whole = bytearray()
            while True:
                answer = _checked(await call.answer(), partial=True)
                whole += _piece(answer)
                if len(whole) > most:
                    raise _failed(f"The file is larger than {most} bytes.", retry=False)
                if answer.ok and answer.last:
                    return bytes(whole)

        return await self._within(self._deadlines.transfer, download)

    # -- requests --------------------------------------------------------------------------------------------------

    async def _call(self, op: str, **fields: Any) -> frames.FrameAnswer:
        return await self._within(self._deadlines.call, lambda call: self._exchange(call, op, fields))

    async def _ask(self, op: str, **fields: Any) -> frames.FrameAnswer:
        return await self._within(None, lambda call: self._exchange(call, op, fields))

    async def _exchange(self, call: PendingCall, op: str, fields: dict[str, Any]) -> frames.FrameAnswer:
        await call.send(op, session=self.session, **fields)
        return _checked(await call.answer())

    async def _within(self, seconds: float | None, work: Callable[[PendingCall], Awaitable[T]]) -> T:
        if self._connection is None or self._ended:
            raise _failed(reason_of("driver_gone").text)
        try:
            with self._connection.call() as call:
                # Not asyncio.timeout: before Python 3.11.3 it raises CancelledError in a task that is being cancelled,
                # and a link is closed in one.
                return await asyncio.wait_for(work(call), seconds)
        except ConnectionLost as gone:
            raise _failed(str(gone)) from gone
        except ValueError as error:
            raise _failed(str(error), retry=False) from error
        except TimeoutError:
            if seconds is None:
                raise
            raise _failed("The link did not answer in time.") from None


def _address(person: Person) -> dict[str, str]:
    """Return a person in the form of the protocol."""
    return {name: value for name, value in (("phone", person.phone), ("lid", person.lid)) if value}


def _key(quote: QuotedRef) -> dict[str, Any]:
    return {"id": quote.network_id, "from_me": quote.from_me}


def _receipt(answer: frames.FrameAnswer, id_: str) -> Receipt:
    if answer.error is None and answer.ok:
        return SendAccepted(answer.id or id_)
    error = answer.error or frames.FrameError(title="The driver of the link gave an empty answer.")
    if not answer.not_sent:
        return SendUnknown(error.title or "It is unknown whether the message was sent.")
    if error.code == 0:
        return SendNotMade(error.details or error.title)
    return refused(error.code, error.title, error.details)


def _checked(answer: frames.FrameAnswer, *, partial: bool = False) -> frames.FrameAnswer:
    if answer.error is None and (answer.ok or partial):
        return answer
    error = answer.error or frames.FrameError(title="The link refused.")
    said = refused(error.code, error.title, error.details)
    retry = said.reaction.value in ("retry", "hold_channel")
    raise CallFailed(said.error, retry=retry, status=error.code, reaction=said.reaction)


def _piece(answer: frames.FrameAnswer) -> bytes:
    try:
        return b64decode(answer.data or "", validate=True)
    except (BadBase64, ValueError):
        raise _failed("The driver of the link sent a file that cannot be read.", retry=False) from None


def _failed(title: str, *, retry: bool = True) -> CallFailed:
    return CallFailed(NetworkError(0, title), retry=retry)
