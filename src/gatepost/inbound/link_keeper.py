"""Keeping a QR channel's link: opened when it is wanted, listened to, and opened again as the reason of its end asks.

wanted? ─► open ─► updates ─► receiver ─► durable ─► acknowledged
  ▲         │         ╰─► the link's own state ─► row, event, the lane's way to the network
  ╰─ wait ◄─┴─ ended: reconnect now · back off · stop until somebody asks
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from gatepost.background import Loop, run_loop
from gatepost.clock import Clock
from gatepost.inbound.groups import fitting
from gatepost.inbound.receive import UpdateReceiver
from gatepost.model.errors import GatepostError
from gatepost.model.event import ChannelRef
from gatepost.networks.base import CallFailed, ConnectionUpdate, Update
from gatepost.networks.qr.driver import Driver
from gatepost.networks.qr.link import Link
from gatepost.networks.qr.network import QrNetwork
from gatepost.networks.qr.reasons import NextStep, Reason, reason_of
from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.channels import tell_connection
from gatepost.store.links import LinkRow, get_link, show_link
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.link")
_UNACKED = 256  # updates that may be on their way into the database at once
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
_HEALTHY = 60.0  # seconds after which the next trouble is a new one
_LOOK_EVERY = 5.0
_GATHER = 0.1  # every event of a channel rings here, and few bring a wish: look at most so often
_GOODBYE = 3.0  # seconds that a stop waits for the last words to be written
_NO_END = timedelta(days=365)  # a lock whose end the network did not name

_Pending = asyncio.Queue[tuple[int | None, "asyncio.Task[None]"] | None]


class LinkKeeper:
    """Holds the link of one channel while its lease holds."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        lease: Lease,
        channel: ChannelRef,
        find_driver: Callable[[], Awaitable[Driver]],
        receiver: UpdateReceiver,
        alive: Callable[[], bool],
        *,
        groups: bool,
    ) -> None:
        self.network: QrNetwork | None = None
        self.locked_until: datetime | None = None
        self.row = LinkRow()
        self.changed: Callable[[], None] = lambda: None  # whom to tell that one of these is another now
        self._db = db
        self._clock = clock
        self._lease = lease
        self._channel = channel
        self._find_driver = find_driver
        self._receiver = receiver
        self._alive = alive
        self._groups = groups
        self._wakeup = asyncio.Event()
        self._over = asyncio.Event()
        self._link: Link | None = None
        self._shown = ""
        self._stopping = False
        self._waited = 0.0

    @property
    def idle(self) -> bool:
        return not _has_to_live(self.row)

    @property
    def next_work(self) -> datetime | None:
        """A link that is wanted wants an owner at any time."""
        return None if self.idle else self._clock.now()

    def wake(self) -> None:
        """Somebody may want something else of the link."""
        self._wakeup.set()

    async def run(self) -> None:
        """Until stopped, or until the lease is lost."""
        try:
            await run_loop(
                "link", self._live_and_wait, going=self._going, ends_on=(StaleOwner,), channel=self._channel.id
            )
        finally:
            self._over.set()

    def _going(self) -> bool:
        return not self._stopping and self._alive()

    async def _live_and_wait(self) -> None:
        began = self._clock.monotonic()
        then = await self._try_turn()
        if then is not NextStep.BACK_OFF or self._clock.monotonic() - began > _HEALTHY:
            self._waited = 0.0
        if then is NextStep.BACK_OFF:
            self._waited = min(max(_FIRST_WAIT, self._waited * 2), _LONGEST_WAIT)
            await self._pause(self._waited)
        elif then is NextStep.STOP and not self._stopping:
            await self._rung()
        self._wakeup.clear()

    async def stop(self) -> None:
        """Ends the connection; the phone stays linked."""
        self._stopping = True
        self._wakeup.set()
        stood = self.network is not None  # looked at first: it is gone once the link has closed
        if self._link is not None:
            await self._link.close()
        if stood:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), _GOODBYE)

    async def _rung(self) -> None:
        """Until the bell rings; a ring may be lost, so that a look now and then has to make up for it."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wakeup.wait(), _LOOK_EVERY)

    async def _pause(self, seconds: float) -> None:
        """Waits before the next life, unless somebody wants something else meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                while not self._stopping and await self._wants_the_same():
                    await self._wakeup.wait()
                    await asyncio.sleep(_GATHER)
                    self._wakeup.clear()
        except TimeoutError:
            return
        except GatepostError:
            await asyncio.sleep(seconds)

    async def _wants_the_same(self) -> bool:
        row = await get_link(self._db, self._lease.channel_id)
        return (row.wanted, row.logout) == (self.row.wanted, self.row.logout)

    async def _try_turn(self) -> NextStep:
        try:
            return await self._turn()
        except StaleOwner:
            raise
        except GatepostError as error:
            log.warning("link held back", channel=self._channel.id, reason=error.message)
            return NextStep.BACK_OFF

    async def _turn(self) -> NextStep:
        """Reads what is wanted; lives one life of the link where it is wanted. STOP: nothing to do until the bell."""
        self.row = await get_link(self._db, self._lease.channel_id)
        if not _has_to_live(self.row) or self._stopping:
            if self.row.logout:
                await show_link(self._db, self._lease, logout=False, device=None, qr=None)
            return NextStep.STOP
        return await self._live()

    # -- one life ------------------------------------------------------------------------------------------------------

    async def _live(self) -> NextStep:
        driver = await self._find_driver()
        link = self._link = driver.link(self._channel.id)
        await self._show("connecting", reason_of("started").says)
        try:
            await link.open(self._channel.phone, self.row.device)
        except CallFailed as error:
            await self._show("disconnected", error.error.title)
            return NextStep.BACK_OFF
        wishes = Loop("wishes for the link", partial(self._attend, link), channel=self._channel.id)
        try:
            return await self._listen(link)
        finally:
            await wishes.stop()
            self._set_network(None)
            await link.close()
            self._link = None
            await self._say_goodbye()

    async def _say_goodbye(self) -> None:
        """A link that was ended from here must not look as if it stood."""
        if self._shown in ("connected", "limited", "waiting_for_scan", "connecting") and self._alive():
            if self._stopping:
                await self._show("disconnected", "The gateway that held the link stopped.")
            elif not self.row.wanted:
                gone = self.row.logout
                await self._show(
                    "logged_out" if gone else "disconnected", reason_of("logged_out_here" if gone else "closed").says
                )

    async def _listen(self, link: Link) -> NextStep:
        """Takes in all that the link reports, until it ends; returns what to do next."""
        pending: _Pending = asyncio.Queue(_UNACKED)
        acknowledging = asyncio.create_task(self._acknowledge(link, pending))
        try:
            then = await self._take_in(link, pending)
            await pending.put(None)
            await acknowledging
        finally:
            acknowledging.cancel()
        return NextStep.STOP if self._stopping else NextStep.BACK_OFF if then is NextStep.GO_ON else then

    async def _take_in(self, link: Link, pending: _Pending) -> NextStep:
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
        """Acknowledges what is durable, in its order. What could not be written comes again with the next life."""
        failed: Exception | None = None
        while (entry := await pending.get()) is not None:
            seq, receiving = entry
            try:
                await receiving
                if seq is not None and failed is None:
                    await link.ack(seq)
            except Exception as error:  # whoever puts more into the queue must not wait for ever
                failed = failed or error
                await link.close()
        if failed is not None:
            raise failed

    async def _receive(self, update: Update) -> None:
        kept = fitting(update, groups=self._groups)
        if kept is None:
            return
        try:
            await self._receiver.receive(self._lease.channel_id, self._channel, [kept])
        except GatepostError:
            raise
        except Exception:  # one that cannot be written would come again for ever, and nothing after it
            log.exception("update passed over", channel=self._channel.id)

    # -- its state -----------------------------------------------------------------------------------------------------

    async def _on_connection(self, link: Link, news: ConnectionUpdate) -> NextStep:
        own = news.reason == "logged_out" and self.row.logout
        reason = reason_of("logged_out_here" if own else news.reason)
        says = " ".join(text for text in (reason.says if news.reason else None, news.details) if text) or None
        if news.qr is not None:
            until = self._clock.now() + timedelta(seconds=news.qr_seconds or 20)
            await show_link(self._db, self._lease, qr=news.qr, qr_until=until)
            await self._show("waiting_for_scan", "Scan the code with the phone.", {"qr": news.qr})
            self._wakeup.set()  # a pairing code may have been asked for
            return NextStep.GO_ON
        if news.state == "waiting_for_scan":
            return NextStep.GO_ON  # the code itself is the news
        if news.state in ("connected", "limited"):
            limited = says if news.state == "limited" else None
            await self._connected(link, news, limited or reason_of("linked").says)
            return NextStep.GO_ON
        self._set_network(None)
        await self._note_down(link, news, reason)
        await self._show(news.state, says)
        return NextStep.BACK_OFF if news.reason == "closed" else reason.then  # closed by us, and we know what for

    async def _note_down(self, link: Link, news: ConnectionUpdate, reason: Reason) -> None:
        """What the end of a connection, or the step towards one, leaves in the link's row."""
        values: dict[str, Any] = {}
        if news.state != "connecting":
            values = {"qr": None, "qr_until": None, "pairing_code": None}
        if news.reason == "linked":  # the network asks for a new connection now, which this device has to open
            values |= {"device": link.device, "lid": news.lid, "linked_at": self._clock.now()}
        if news.state == "logged_out":
            values |= {"device": None, "linked_at": None, "logout": False}
        if reason.then is NextStep.STOP and news.reason != "closed":
            values["wanted"] = False
        if values:
            await show_link(self._db, self._lease, **values)

    async def _connected(self, link: Link, news: ConnectionUpdate, says: str) -> None:
        row = await get_link(self._db, self._lease.channel_id)
        await show_link(
            self._db,
            self._lease,
            qr=None,
            qr_until=None,
            pairing_code=None,
            device=link.device,
            lid=news.lid or row.lid,
            linked_at=row.linked_at or self._clock.now(),
            locked_until=news.until if news.state == "limited" else None,
        )
        self._set_network(QrNetwork(link))
        self._set_lock(news)
        self._wakeup.set()  # somebody may have wanted to log out meanwhile
        await self._show(news.state, says)

    def _set_lock(self, news: ConnectionUpdate) -> None:
        """The sending side has to know at once whom it may write to."""
        before = self.locked_until
        self.locked_until = (news.until or self._clock.now() + _NO_END) if news.state == "limited" else None
        if before != self.locked_until:
            self.changed()

    def _set_network(self, network: QrNetwork | None) -> None:
        if (network is None) != (self.network is None):
            self.network = network
            self.changed()

    async def _show(self, state: str, says: str | None, details: dict[str, Any] | None = None) -> None:
        self._shown = state
        await tell_connection(
            self._db,
            self._channel,
            self._lease.channel_id,
            state,
            says,
            self._clock.now(),
            epoch=self._lease.epoch,
            details=details,
        )

    # -- wishes --------------------------------------------------------------------------------------------------------

    async def _attend(self, link: Link) -> None:
        """While the link lives: does what people ask of it."""
        try:
            await self._grant(link)
        except (GatepostError, CallFailed) as error:
            log.warning("wish not granted", channel=self._channel.id, reason=str(error))
        await self._rung()
        await asyncio.sleep(_GATHER)
        self._wakeup.clear()

    async def _grant(self, link: Link) -> None:
        row = self.row = await get_link(self._db, self._lease.channel_id)
        if row.logout:
            await link.logout()
            await show_link(self._db, self._lease, logout=False, wanted=False, device=None, linked_at=None)
        elif not row.wanted:
            await link.close()
        elif row.pair_phone and not row.pairing_code and link.state == "waiting_for_scan":
            code = await link.pair(row.pair_phone)
            await show_link(self._db, self._lease, pairing_code=code, pair_phone=None)


def _has_to_live(row: LinkRow) -> bool:
    """Whether there is something to do that needs the link: only over it can a phone be unlinked."""
    return row.wanted or (row.logout and row.linked_at is not None)
