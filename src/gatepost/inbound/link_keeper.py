"""Keeps the link of a QR channel: opens it on request, reads its updates, and opens it again after it ended.

requested? ─► open ─► updates ─► receiver ─► durable ─► acknowledged
  ▲         │         ╰─► the link's own state ─► row, event, the sender's connection to the network
  ╰─ wait ◄─┴─ ended: reconnect now · back off · stop until the next request

A request to log out stays in the row until the commit that reports the phone as unlinked. Whatever ends before (the
connection, the driver, this process), the next connection continues with it: it unlinks the phone, or learns that the
phone is not linked any more.
"""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from gatepost.background import Loop
from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.inbound.groups import apply_group_setting
from gatepost.inbound.link_changes import (
    NO_CODES,
    UNLINKED,
    changes_of_end,
    is_temporary_ban,
    seconds_of_lock,
    text_of,
)
from gatepost.inbound.receive import UpdateReceiver
from gatepost.model.errors import GatepostError
from gatepost.model.number_forms import forms_of
from gatepost.model.number_status import CONNECTED
from gatepost.networks.base import CallFailed, ConnectionUpdate, Update
from gatepost.networks.qr.driver import Driver
from gatepost.networks.qr.link import Link
from gatepost.networks.qr.network import QrNetwork
from gatepost.networks.qr.reasons import NextStep, reason_of
from gatepost.store.channel_head import StaleOwner
from gatepost.store.channels import get_config, save_connection
from gatepost.store.links import LinkRow, get_link, save_link_state, update_link

log = structlog.get_logger("gatepost.link")
_UNACKED = 256  # updates that may be on their way into the database at once
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
_LONGEST_WAIT_FOR_PEOPLE = 3600.0  # if the link cannot be opened until somebody acts: the number may be banned
_OF_OPERATOR = ("could_not_load", "outdated_client")  # problems of the installation, not of a channel
_HEALTHY = 60.0  # seconds of connection after which the wait starts from the shortest again
_LOOK_EVERY = 5.0
_GATHER = 0.1  # seconds: every event of a channel wakes this task, and few bring a request
_BETWEEN_REPEATED = 10.0  # seconds: a program that repeats its request must not make the phone connect all the time
_STOP_WITHIN = 3.0  # seconds that a stop waits for the last state to be written
_NO_END = timedelta(days=365)  # a lock whose end the network did not name

_Pending = asyncio.Queue[tuple[int | None, "asyncio.Task[None]"] | None]


class LinkKeeper(ChannelTask):
    """Holds the link of one channel while its lease is valid."""

    name = "link"
    costly_to_move = True  # the phone has to connect again

    def __init__(
        self,
        context: ChannelContext,
        find_driver: Callable[[], Awaitable[Driver]],
        receiver: UpdateReceiver,
        changed: Callable[[], None],
        *,
        groups: bool,
    ) -> None:
        super().__init__(context)
        self.network: QrNetwork | None = None
        self.locked_until: datetime | None = None
        self.row = LinkRow()
        self._changed = changed  # called when the network or the lock has changed
        self._find_driver = find_driver
        self._receiver = receiver
        self._groups = groups
        self._over = asyncio.Event()
        self._link: Link | None = None
        self._state = ""
        self._waited = 0.0
        self._repeated = -math.inf  # when a repeated request ended a wait
        self._longest_wait = _LONGEST_WAIT

    @property
    def idle(self) -> bool:
        return not (self.row.wanted or self.row.logout)

    @property
    def next_work(self) -> datetime | None:
        """Now: a link that was requested always needs an owner."""
        return None if self.idle else self._clock.now()

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            self._over.set()

    async def work(self) -> float | None:
        began, self._longest_wait = self._clock.monotonic(), _LONGEST_WAIT
        then = await self._try_to_connect()
        if then is not NextStep.BACK_OFF or self._clock.monotonic() - began > _HEALTHY:
            self._waited = 0.0
        if then is NextStep.BACK_OFF:
            self._waited = min(max(_FIRST_WAIT, self._waited * 2), self._longest_wait)
            await self._pause(self._waited)
        return _LOOK_EVERY if then is NextStep.STOP else 0.0

    async def stop(self) -> None:
        """End the connection; the phone stays linked."""
        await super().stop()
        connected = self.network is not None  # read first: there is none once the link has closed
        if self._link is not None:
            await self._link.close()
        if connected:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), _STOP_WITHIN)

    async def _pause(self, seconds: float) -> None:
        """Wait before the next connection, unless there is a request meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                while not self._stopping and not await self._is_requested():
                    await self._wakeup.wait()
                    await asyncio.sleep(_GATHER)
                    self._wakeup.clear()
        except TimeoutError:
            return
        except GatepostError:  # requests are not seen meanwhile
            await asyncio.sleep(min(seconds, _LONGEST_WAIT))

    async def _is_requested(self) -> bool:
        """Return whether there is another request, or the same one again; one that is repeated often has to wait."""
        row, known = await get_link(self._db, self._lease.channel_id), self.row
        if (row.wanted, row.logout, row.locked_until) != (known.wanted, known.logout, known.locked_until):
            return True
        if row.xmin == known.xmin:
            return False
        wait = self._repeated + _BETWEEN_REPEATED - self._clock.monotonic()
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self._wakeup.set)
            return False
        self._repeated = self._clock.monotonic()
        return True

    async def _try_to_connect(self) -> NextStep:
        try:
            return await self._connect_if_wanted()
        except StaleOwner:
            raise
        except GatepostError as error:
            log.warning("link not connected", channel=self._channel.id, reason=error.message)
            return NextStep.BACK_OFF

    async def _connect_if_wanted(self) -> NextStep:
        """Read the request, and hold the link if it was requested. STOP: nothing to do until this task is woken."""
        self.row = await get_link(self._db, self._lease.channel_id)
        if self._stopping:
            return NextStep.STOP
        if self.row.logout and self.row.linked_at is None:  # no phone is linked, or no longer
            text = reason_of("logged_out_here").text
            await self._save_state("logged_out", text, logout=False, **UNLINKED, **NO_CODES)
        return NextStep.STOP if self.idle or await self._is_banned() else await self._hold_link()

    async def _is_banned(self) -> bool:
        """Return whether the link stays closed because of a ban whose end the network named."""
        if self.row.logout or seconds_of_lock(self.row, self._lease.channel_id, self._clock.now()) <= 0:
            return False
        config = await get_config(self._db, self._lease.channel_id)
        return config is not None and config.connection == "banned"

    # -- one connection ------------------------------------------------------------------------------------------------

    async def _hold_link(self) -> NextStep:
        driver, device = await self._find_driver(), self.row.device
        link = self._link = driver.link(self._channel.id)
        await self._report("connecting", reason_of("started").text)
        try:
            await link.open(self._channel.phone, device)
        except CallFailed as error:
            await self._report("disconnected", error.error.title)
            return NextStep.BACK_OFF
        requests = Loop("requests for the link", partial(self._serve_requests, link), channel=self._channel.id)
        try:
            return await self._listen(link)
        finally:
            await requests.stop()
            self._set_network(None)
            await link.close()
            self._link = None
            if link.device not in (None, device, self.row.device) and self._alive():  # linked while the link ended
                self.row = await update_link(self._db, self._lease, device=link.device, linked_at=self._clock.now())
            await self._report_end()

    async def _report_end(self) -> None:
        """Report the end of a link that the gateway closed; it must not be shown as connected."""
        if self._state in (*CONNECTED, "waiting_for_scan", "connecting") and self._alive():
            if self._stopping:
                await self._report("disconnected", "The gateway that held the link stopped.")
            elif self.idle:
                await self._report("disconnected", reason_of("closed").text)

    async def _listen(self, link: Link) -> NextStep:
        """Receive the updates of the link until it ends; return what to do next."""
        pending: _Pending = asyncio.Queue(_UNACKED)
        acknowledging = asyncio.create_task(self._acknowledge(link, pending))
        try:
            then = await self._read_updates(link, pending)
            await pending.put(None)
            await acknowledging
        finally:
            acknowledging.cancel()
        return NextStep.STOP if self._stopping else NextStep.BACK_OFF if then is NextStep.GO_ON else then

    async def _read_updates(self, link: Link, pending: _Pending) -> NextStep:
        then = NextStep.GO_ON
        async for seq, update in link.updates():
            if not isinstance(update, ConnectionUpdate):
                await pending.put((seq, asyncio.create_task(self._receive(update))))
                continue
            then = await self._on_connection(link, update)
            if then is not NextStep.GO_ON:
                break
        return then

    async def _acknowledge(self, link: Link, pending: _Pending) -> None:
        """Acknowledge stored updates, in order. The next connection sends those again that could not be stored."""
        failed: Exception | None = None
        while (entry := await pending.get()) is not None:
            seq, receiving = entry
            try:
                await receiving
                if seq is not None and failed is None:
                    await link.ack(seq)
            except Exception as error:  # the reader, which fills the queue, must not wait forever
                failed = failed or error
                await link.close()
        if failed is not None:
            raise failed

    async def _receive(self, update: Update) -> None:
        kept = apply_group_setting(update, groups=self._groups)
        if kept is not None:  # the receiver skips an update that can never be stored; any other error ends the link
            await self._receiver.receive(self._lease.channel_id, self._channel, [kept])

    # -- its state -----------------------------------------------------------------------------------------------------

    async def _on_connection(self, link: Link, update: ConnectionUpdate) -> NextStep:
        if update.qr is not None:
            await self._show_code(update.qr, update.qr_seconds or 20)
            return NextStep.GO_ON
        if update.state == "waiting_for_scan":
            return NextStep.GO_ON  # the code itself is reported
        if update.state in CONNECTED:
            limited = text_of(update, update.reason) if update.state == "limited" else None
            await self._connected(link, update, (limited or reason_of("linked").text) + self._other_number(link))
            return NextStep.GO_ON
        self._set_network(None)
        return await self._ended(link, update)

    def _other_number(self, link: Link) -> str:
        """Return a warning if another phone than the channel's was linked: messages are sent from its number."""
        own = self._channel.phone
        if link.phone is None or link.phone in forms_of(own):
            return ""
        return f" The linked phone has the number {link.phone}, not that of the channel, {own}."

    async def _show_code(self, code: str, seconds: float) -> None:
        """Save a code to scan, unless a logout is requested: a code says that no phone is linked."""
        until = self._clock.now() + timedelta(seconds=seconds)
        self.row = await update_link(self._db, self._lease, qr=code, qr_until=until)
        if self.row.logout:
            self.row = await update_link(self._db, self._lease, **UNLINKED, **NO_CODES)
        else:
            await self._report("waiting_for_scan", "Scan the code with the phone.", qr=code)
        self._wakeup.set()  # a pairing code or a logout may have been requested

    async def _ended(self, link: Link, update: ConnectionUpdate) -> NextStep:
        """Save the state of a connection that ended, or that is being opened, and return what to do next."""
        row = self.row = await get_link(self._db, self._lease.channel_id)
        closed = update.reason == "closed"
        if closed and row.logout and not self._stopping:
            return NextStep.RECONNECT  # `_log_out` closed it; the row says whether a phone is linked
        own = update.reason == "logged_out" and row.logout
        name = "logged_out_here" if own else update.reason
        then = reason_of(name).then
        passes = row.linked_at is not None and (update.reason in _OF_OPERATOR or is_temporary_ban(update))
        waits = then is NextStep.STOP and not closed and not passes  # until the next request
        values = changes_of_end(link, update, self._clock.now())
        if own:
            values["logout"] = False  # `wanted` stays: it was requested after the logout
        elif waits and not row.logout:
            values["wanted"] = False
        await self._save_state(update.state, text_of(update, name), **values)
        if own:
            return NextStep.STOP if self.idle else NextStep.RECONNECT
        if passes or (waits and row.logout):
            self._longest_wait = _LONGEST_WAIT_FOR_PEOPLE
            return NextStep.BACK_OFF
        return NextStep.BACK_OFF if closed else then

    async def _connected(self, link: Link, update: ConnectionUpdate, reason_text: str) -> None:
        row = await get_link(self._db, self._lease.channel_id)
        self.row = await update_link(
            self._db,
            self._lease,
            **NO_CODES,
            device=link.device,
            lid=update.lid or row.lid,
            linked_at=row.linked_at or self._clock.now(),
            locked_until=update.until if update.state == "limited" else None,
        )
        self._set_network(QrNetwork(link))
        self._set_lock(update)
        self._wakeup.set()  # a logout may have been requested meanwhile
        await self._report(update.state, reason_text)

    def _set_lock(self, update: ConnectionUpdate) -> None:
        """Note until when new conversations are locked; the sender must know it immediately."""
        before = self.locked_until
        self.locked_until = (update.until or self._clock.now() + _NO_END) if update.state == "limited" else None
        if before != self.locked_until:
            self._changed()

    def _set_network(self, network: QrNetwork | None) -> None:
        if (network is None) != (self.network is None):
            self.network = network
            self._changed()

    async def _save_state(self, state: str, reason_text: str | None, **values: Any) -> None:
        """Report a state with the changes of the row in one commit, so that no crash can separate them."""
        if not values:
            await self._report(state, reason_text)
            return
        self._state = state
        now = self._clock.now()
        self.row = await save_link_state(self._db, self._lease, self._channel, now, state, reason_text, **values)

    async def _report(self, state: str, reason_text: str | None, *, qr: str | None = None) -> None:
        self._state = state
        await save_connection(
            self._db,
            self._channel,
            self._lease.channel_id,
            state,
            reason_text,
            self._clock.now(),
            epoch=self._lease.epoch,
            qr=qr,
        )

    # -- requests ------------------------------------------------------------------------------------------------------

    async def _serve_requests(self, link: Link) -> None:
        """Serve the API's requests for the link while it is open: log out, close, pair."""
        try:
            await self._serve_request(link)
        except (GatepostError, CallFailed) as error:
            log.warning("request for the link failed", channel=self._channel.id, reason=str(error))
        await self._wait(_LOOK_EVERY)
        await asyncio.sleep(_GATHER)
        self._wakeup.clear()

    async def _serve_request(self, link: Link) -> None:
        row = self.row = await get_link(self._db, self._lease.channel_id)
        if row.logout:
            await self._log_out(link)
        elif not row.wanted:
            await link.close()
        elif row.pair_phone and not row.pairing_code and link.state == "waiting_for_scan":
            await self._pair(link, row.pair_phone)

    async def _pair(self, link: Link, phone: str) -> None:
        """Request a code to type. A request that the network rejected is not repeated: the network limits them."""
        try:
            code = await link.pair(phone)
        except CallFailed as failed:
            if failed.status == 0:  # it was not the network that rejected it
                raise
            because = ": ".join(text for text in (failed.error.title, failed.error.details) if text)
            text = f"The network gave no pairing code: {because}"
            await self._save_state("waiting_for_scan", text, pair_phone=None)
            return
        self.row = await update_link(self._db, self._lease, pairing_code=code, pair_phone=None)

    async def _log_out(self, link: Link) -> None:
        """Unlink the phone. While the link is being opened, it is not known yet whether there is one to unlink."""
        if link.state in CONNECTED:
            await link.logout()
        elif link.state == "waiting_for_scan":
            await link.close()
