"""A logout that was accepted ends with an unlinked phone, whatever happens to the link, its driver or its owner.

test ─► requests ─► the database ◄─ LinkKeeper ◄══ frames ══► a driver that answers as the test says
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from gatepost.channel_task import ChannelContext
from gatepost.inbound import link_keeper
from gatepost.inbound.link_keeper import LinkKeeper
from gatepost.model import times
from gatepost.model.errors import Conflict
from gatepost.networks.qr.driver import Driver
from gatepost.networks.qr.reasons import reason_of
from gatepost.services import link as service
from gatepost.store.channel_head import StaleOwner
from gatepost.store.channels import ChannelConfig, get_config
from gatepost.store.leases import claim_channel, release_channel
from gatepost.store.links import LinkRow, get_link, save_link_state, update_link
from tests.networks.qr.scripted import Frame, Scripted, running
from tests.outbound.stage import NOW, Stage
from tests.patience import patience

DEVICE = "15550002222:7@s.whatsapp.net"
HERE = ("logged_out", reason_of("logged_out_here").text)
NOT_UP = {"error": {"code": 0, "title": "The link is not connected"}, "sure": True}


class PhoneDriver(Scripted):
    """A driver with one phone. `linked` is the truth: whether the phone lists our device."""

    def __init__(self) -> None:
        super().__init__()
        self.linked = False
        self.session = ""
        self.state = "disconnected"
        self.replies |= {"open": self.open, "logout": self.logout, "close": self.close}

    def open(self, frame: Frame) -> list[Frame]:
        self.session = frame["session"]
        if self.linked:
            return [{"ok": True}, self.event("connected", "linked")]
        if frame.get("device"):
            return [{"ok": True}, self.event("logged_out", "logged_out")]
        return [{"ok": True}, self.event("waiting_for_scan", "started"), self.frame("qr", code="2@x", seconds=60)]

    def logout(self, _frame: Frame) -> list[Frame]:
        if self.state != "connected":
            return [NOT_UP]
        self.linked = False
        return [self.event("logged_out", "logged_out"), {"ok": True}]

    def close(self, _frame: Frame) -> list[Frame]:
        return [self.event("disconnected", "closed"), {"ok": True}]

    def scan(self) -> list[Frame]:
        self.linked = True
        return [self.frame("linked", phone="15550002222", device=DEVICE)]

    def event(self, state: str, reason: str) -> Frame:
        self.state = state
        return self.frame("connection", state=state, reason=reason)

    def frame(self, event: str, **fields: Any) -> Frame:
        return {"event": event, "session": self.session, **fields}


class Linked:
    """The channel of a stage, its owner's keeper, and the driver that it reaches."""

    def __init__(self, stage: Stage, phone: PhoneDriver, driver: Driver) -> None:
        self.stage, self.db, self.phone = stage, stage.db, phone
        self.keeper: LinkKeeper
        self.keeper_class = LinkKeeper
        self._driver = driver

    async def own(self) -> LinkKeeper:
        """A new owner takes the channel; the last one is gone without a word."""
        stage = self.stage
        if hasattr(self, "keeper"):
            await self.keeper.end()
            await release_channel(self.db, stage.lease, seen=None, work_at=None)
        lease = await claim_channel(self.db, stage.channel_id, uuid4(), 3600)
        assert lease
        stage.lease = lease
        context = ChannelContext(self.db, stage.clock, lease, stage.ref, lambda: True)
        self.keeper = self.keeper_class(context, self._find, stage.receiver, lambda: None, groups=False)
        return self.keeper

    async def _find(self) -> Driver:
        return self._driver

    async def start(self) -> None:
        (await self.own()).start()

    async def connect(self, *, scanned: bool = True) -> None:
        """A link that is up, or that shows a code."""
        self.phone.linked = scanned
        await self.start()
        await service.connect(self.db, await self.config(), NOW)
        self.keeper.wake()
        await self.until("connected" if scanned else "waiting_for_scan")

    async def log_out(self) -> None:
        await service.log_out(self.db, await self.config(), NOW)
        if hasattr(self, "keeper"):
            self.keeper.wake()

    async def config(self) -> ChannelConfig:
        config = await get_config(self.db, self.stage.channel_id)
        assert config
        return config

    async def row(self) -> LinkRow:
        return await get_link(self.db, self.stage.channel_id)

    async def until(self, *states: str) -> tuple[str, str | None]:
        now: tuple[str, str | None] = ("", None)
        async with patience(lambda: f"{states}; it is {now}"):
            while now[0] not in states:
                config = await self.config()
                now = config.connection, config.reason
                await asyncio.sleep(0.01)
        return now

    async def check_unlinked(self) -> None:
        """The first final state is the right one, and nothing is left to do."""
        assert await self.until("logged_out", "disconnected") == HERE
        assert not self.phone.linked
        row = await self.row()
        assert (row.wanted, row.logout, row.device, row.linked_at, row.qr) == (False, False, None, None, None)
        assert row.locked_until is None


@asynccontextmanager
async def linked_to(stage: Stage) -> AsyncIterator[Linked]:
    phone = PhoneDriver()
    async with running("socketpair", phone) as driver:
        one = Linked(stage, phone, driver)
        yield one
        if hasattr(one, "keeper"):
            await one.keeper.end()


@pytest.fixture
async def linked(stage: Stage) -> AsyncIterator[Linked]:
    async with linked_to(stage) as one:
        yield one


async def test_the_library_reports_nothing_after_a_logout(linked: Linked) -> None:
    """Or reports it late: something else happens on the channel meanwhile, and the keeper looks again."""

    def unlink(_frame: Frame) -> list[Frame]:
        phone.linked = False
        linked.keeper.wake()
        return [{"ok": True}]

    phone = linked.phone
    phone.replies["logout"] = unlink
    await linked.connect()
    await linked.log_out()
    await linked.check_unlinked()


@pytest.mark.parametrize("answer", [[{"ok": True}], [NOT_UP], []], ids=["confirmed", "rejected", "silent"])
async def test_the_connection_ends_before_the_library_reports_the_logout(linked: Linked, answer: list[Frame]) -> None:
    def drop(_frame: Frame) -> list[Frame]:
        linked.phone.linked = False
        return [linked.phone.event("disconnected", "network_gone"), *answer]

    await linked.connect()
    linked.phone.replies["logout"] = drop
    await linked.log_out()
    await linked.until("disconnected")
    await linked.until("connecting", "logged_out")  # after a pause
    await linked.until("logged_out")
    await linked.check_unlinked()


@pytest.mark.parametrize("unlinked", [True, False])
async def test_the_owner_is_killed_during_a_logout(linked: Linked, unlinked: bool) -> None:
    """The next owner unlinks the phone. If that is done, the driver sends a code, which is not shown."""
    await linked.connect()
    linked.phone.replies["logout"] = lambda _: None
    await linked.log_out()
    await linked.phone.asked("logout")
    linked.phone.linked = not unlinked
    linked.phone.replies["logout"] = linked.phone.logout
    await linked.start()
    await linked.until("logged_out")
    await linked.check_unlinked()
    bodies = await linked.db.fetch("SELECT body::text FROM events WHERE channel_id = $1", linked.stage.channel_id)
    assert bodies
    assert not [body for (body,) in bodies if "waiting_for_scan" in body]


async def test_the_owner_stops_while_it_reads_the_request(linked: Linked) -> None:
    keeper = await linked.own()
    await update_link(linked.db, linked.stage.lease, device=DEVICE, linked_at=NOW)
    await linked.log_out()
    async with linked.db.transaction() as conn:
        await conn.execute("LOCK TABLE channel_links IN ACCESS EXCLUSIVE MODE")
        keeper.start()
        await somebody_waits(conn)
        await keeper.stop()
    async with patience(lambda: "the keeper ends"):
        while not keeper.ended:
            await asyncio.sleep(0.005)
    row = await linked.row()
    assert (row.logout, row.device) == (True, DEVICE)
    linked.phone.linked = True
    await linked.start()
    await linked.until("logged_out")
    await linked.check_unlinked()


@pytest.mark.parametrize("scanned", [False, True])
async def test_a_logout_while_a_code_is_shown(linked: Linked, scanned: bool) -> None:
    """Nobody can scan the code after it. A phone that scanned it at the last moment is unlinked."""

    def close(_frame: Frame) -> list[Frame]:
        phone.replies["close"] = phone.close
        return [*(phone.scan() if scanned else []), *phone.close({})]

    phone = linked.phone
    await linked.connect(scanned=False)
    phone.replies["close"] = close
    await linked.log_out()
    await linked.until("logged_out")
    await linked.check_unlinked()
    opened = [one.get("device") for one in phone.requests if one["op"] == "open"]
    assert opened == ([None, DEVICE] if scanned else [None])


async def test_a_logout_with_nothing_linked(linked: Linked) -> None:
    await linked.start()
    await linked.log_out()
    await linked.until("logged_out")
    await linked.check_unlinked()
    assert linked.phone.requests == []


async def test_a_link_that_is_requested_during_a_logout_comes_after_it(linked: Linked) -> None:
    await linked.connect()
    linked.phone.replies["logout"] = lambda _: None
    await linked.log_out()
    await linked.phone.asked("logout")
    await service.connect(linked.db, await linked.config(), NOW)
    linked.phone.linked = False
    await linked.phone.say(linked.phone.event("logged_out", "logged_out"))
    await linked.until("waiting_for_scan")
    row = await linked.row()
    assert (row.wanted, row.logout, row.qr) == (True, False, "2@x")


@pytest.mark.parametrize("reason", ["replaced", "banned"])
async def test_an_end_that_waits_for_somebody_does_not_end_a_logout(linked: Linked, reason: str) -> None:
    def fail(_frame: Frame) -> list[Frame]:
        phone.replies["logout"] = phone.logout
        return [phone.event(reason_of(reason).state, reason)]

    phone = linked.phone
    await linked.connect()
    phone.replies["logout"] = fail
    await linked.log_out()
    await linked.until("logged_out")
    await linked.check_unlinked()


class Hurried(LinkKeeper):
    """Does not wait between two connections, but notes how long it would."""

    pauses: list[float]

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


class Patient(LinkKeeper):
    """Waits an hour between two connections, as after many that failed."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.waits = asyncio.Event()

    async def _pause(self, seconds: float) -> None:
        self.waits.set()
        await super()._pause(3600)


@pytest.mark.parametrize("reason", ["banned", "network_gone"])
async def test_a_logout_is_tried_rarely_where_the_link_cannot_be_opened(linked: Linked, reason: str) -> None:
    """A banned number does not knock every minute. The network may come back at any time."""
    phone, enough, count = linked.phone, asyncio.Event(), 16

    def refuse(frame: Frame) -> list[Frame]:
        phone.session = frame["session"]
        if len(pauses) == count:
            enough.set()
            return []
        return [{"ok": True}, phone.event(reason_of(reason).state, reason)]

    phone.replies["open"] = refuse
    pauses: list[float] = []
    linked.keeper_class, Hurried.pauses = Hurried, pauses
    keeper = await linked.own()
    await update_link(linked.db, linked.stage.lease, device=DEVICE, linked_at=NOW)
    await linked.log_out()
    keeper.start()
    async with patience(lambda: f"{count} connections; there were {len(pauses)}"):
        await enough.wait()
    longest = 3600 if reason == "banned" else 60
    assert pauses == [min(2**number, longest) for number in range(count)]
    assert (await linked.row()).logout


@pytest.mark.parametrize("reason", ["could_not_load", "outdated_client"])
@pytest.mark.parametrize("was_linked", [True, False])
async def test_a_linked_phone_connects_again_once_the_operator_has_solved_the_problem(
    linked: Linked, reason: str, was_linked: bool
) -> None:
    phone, opened = linked.phone, linked.phone.open
    if was_linked:
        await linked.connect()
    phone.linked = True
    phone.replies["open"] = lambda frame: [opened(frame)[0], phone.event("disconnected", reason)]
    await linked.start()  # after an update, for example
    await service.connect(linked.db, await linked.config(), NOW)
    linked.keeper.wake()
    async with patience(lambda: f"the reason is {reason}"):
        while (await linked.until("disconnected"))[1] != reason_of(reason).text:
            await asyncio.sleep(0.005)
    assert (await linked.row()).wanted is was_linked  # who waits for a code gets the reason instead
    phone.replies["open"] = opened
    await linked.start()
    if not was_linked:
        await service.connect(linked.db, await linked.config(), NOW)
        linked.keeper.wake()
    await linked.until("connected")


async def test_a_banned_number_connects_again_when_its_ban_has_ended(linked: Linked) -> None:
    phone, clock, opened = linked.phone, linked.stage.clock, linked.phone.open
    ends = clock.now() + timedelta(hours=1)
    connections = 0

    def refuse(frame: Frame) -> list[Frame]:
        nonlocal connections
        connections += 1
        return [opened(frame)[0], phone.event("banned", "banned") | {"until": ends.timestamp()}]

    async def until_refused(count: int) -> None:
        async with patience(lambda: f"{count} connections; there were {connections}"):
            while connections < count or (await linked.until("banned", "connecting"))[0] != "banned":
                await asyncio.sleep(0.005)

    await linked.connect()
    phone.replies["open"] = refuse
    await linked.start()
    await until_refused(1)
    assert times.format_time(ends) in ((await linked.config()).reason or "")
    row = await linked.row()
    assert (row.wanted, row.locked_until) == (True, ends)
    with pytest.raises(Conflict, match="The ban ends at"):
        await service.current_code(linked.db, clock, await linked.config(), 10)
    clock.advance(3600)
    await linked.start()  # a new owner, before the channel's turn
    await linked.keeper.looked.wait()
    assert connections == 1
    await service.connect(linked.db, await linked.config(), NOW)
    linked.keeper.wake()
    await until_refused(2)
    clock.advance(100)
    phone.replies["open"] = opened
    await linked.start()
    await linked.until("connected")
    assert (await linked.row()).locked_until is None


@pytest.mark.parametrize("reason", ["could_not_load", "network_gone"])
async def test_a_request_ends_the_wait_for_the_next_connection(linked: Linked, reason: str) -> None:
    phone, opened = linked.phone, linked.phone.open
    await linked.connect()
    phone.replies["open"] = lambda frame: [opened(frame)[0], phone.event("disconnected", reason)]
    linked.keeper_class = Patient
    keeper = await linked.own()
    assert isinstance(keeper, Patient)
    keeper.start()
    async with patience(lambda: "the keeper waits"):
        await keeper.waits.wait()
    phone.replies["open"] = opened
    await service.connect(linked.db, await linked.config(), NOW)
    keeper.wake()
    await linked.until("connected")


async def test_a_request_that_is_repeated_all_the_time_connects_now_and_then(
    linked: Linked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can make the gateway connect to the network many times a second."""
    monkeypatch.setattr(link_keeper, "_BETWEEN_REPEATED", 3600.0)
    phone, opened = linked.phone, linked.phone.open
    await linked.connect()
    phone.replies["open"] = lambda frame: [opened(frame)[0], phone.event("disconnected", "network_gone")]
    linked.keeper_class = Patient
    keeper = await linked.own()
    assert isinstance(keeper, Patient)
    keeper.start()
    for _ in range(2):
        async with patience(lambda: "the keeper waits"):
            await keeper.waits.wait()
        keeper.waits.clear()
        await service.connect(linked.db, await linked.config(), NOW)
        keeper.wake()
    await service.connect(linked.db, await linked.config(), NOW)
    keeper.wake()
    await asyncio.sleep(2 * link_keeper._GATHER)
    assert not keeper.waits.is_set()
    await linked.log_out()  # another request is tried at once
    async with patience(lambda: "the keeper has tried"):
        await keeper.waits.wait()


async def test_the_ban_of_a_number_is_not_shown_after_its_logout(linked: Linked) -> None:
    phone, opened = linked.phone, linked.phone.open
    ends = linked.stage.clock.now() + timedelta(hours=1)
    await linked.connect()
    banned = phone.frame("connection", state="banned", reason="banned", until=ends.timestamp())
    phone.replies["open"] = lambda frame: [opened(frame)[0], banned]
    await linked.start()
    await linked.until("banned")
    assert (await linked.row()).locked_until == ends
    phone.linked, phone.replies["open"] = False, opened
    await linked.log_out()
    await linked.check_unlinked()


async def test_a_ban_without_an_end_waits_for_a_request(linked: Linked) -> None:
    phone, opened = linked.phone, linked.phone.open
    await linked.connect()
    phone.replies["open"] = lambda frame: [opened(frame)[0], phone.event("banned", "banned")]
    await linked.start()
    assert (await linked.until("banned"))[1] == reason_of("banned").text
    row = await linked.row()
    assert (row.wanted, row.locked_until) == (False, None)


@pytest.mark.parametrize("logout", [True, False])
async def test_a_ban_that_has_ended_for_us_alone_is_not_asked_about_often(linked: Linked, logout: bool) -> None:
    """The clocks may differ: the end that the network names may have passed here."""
    phone, enough, count = linked.phone, asyncio.Event(), 14
    ends = linked.stage.clock.now() - timedelta(minutes=5)

    def refuse(frame: Frame) -> list[Frame]:
        phone.session = frame["session"]
        if len(pauses) == count:
            enough.set()
            return []
        return [{"ok": True}, phone.event("banned", "banned") | {"until": ends.timestamp()}]

    phone.replies["open"] = refuse
    pauses: list[float] = []
    linked.keeper_class, Hurried.pauses = Hurried, pauses
    keeper = await linked.own()
    await update_link(linked.db, linked.stage.lease, device=DEVICE, linked_at=NOW, wanted=True, logout=logout)
    keeper.start()
    async with patience(lambda: f"{count} connections; there were {len(pauses)}"):
        await enough.wait()
    assert pauses == [min(2**number, 3600) for number in range(count)]


async def test_a_phone_that_is_linked_when_its_codes_have_expired_is_known(linked: Linked) -> None:
    def close(_frame: Frame) -> list[Frame]:
        phone.replies["close"] = phone.close
        return [*phone.scan(), *phone.close({})]

    phone = linked.phone
    await linked.connect(scanned=False)
    phone.replies["close"] = close
    await phone.say(phone.event("disconnected", "scan_expired"))
    async with patience(lambda: "the device is saved"):
        while (await linked.row()).device is None:
            await asyncio.sleep(0.005)
    assert ((await linked.row()).device, (await linked.row()).wanted) == (DEVICE, False)
    await service.connect(linked.db, await linked.config(), NOW)
    linked.keeper.wake()
    await linked.until("connected")
    assert (await phone.asked("open", 2))["device"] == DEVICE


async def test_after_a_scan_the_state_is_connecting_for_a_reason_of_its_own(linked: Linked) -> None:
    await linked.connect(scanned=False)
    for frame in linked.phone.scan():
        await linked.phone.say(frame)
    state = await linked.until("connecting")
    assert state == ("connecting", "The phone is linked. The connection is being opened.")


async def test_the_state_says_that_a_phone_with_another_number_was_linked(linked: Linked) -> None:
    opened, linked_phone = linked.phone.open, "15550009999"
    linked.phone.replies["open"] = lambda frame: [opened(frame)[0], whose(), linked.phone.event("connected", "linked")]

    def whose() -> Frame:
        return linked.phone.frame("linked", phone=linked_phone, device=DEVICE)

    await linked.connect()
    said = f"The linked phone has the number {linked_phone}, not that of the channel, {linked.stage.ref.phone}."
    assert await linked.until("connected") == ("connected", f"{reason_of('linked').text} {said}")
    linked_phone = linked.stage.ref.phone
    await linked.phone.say(whose())
    async with patience(lambda: "the phone of the channel is linked"):
        while await linked.until("connected") != ("connected", reason_of("linked").text):
            await asyncio.sleep(0.005)


async def test_a_pairing_code_that_the_network_rejects_is_not_requested_again(linked: Linked) -> None:
    phone = linked.phone
    phone.replies["pair"] = lambda _: [{"error": {"code": 429, "title": "Rate limit", "details": "Too many codes"}}]
    await linked.connect(scanned=False)
    config = await linked.config()
    await service.want_pairing_code(linked.db, config, None, NOW)
    linked.keeper.wake()
    with pytest.raises(Conflict, match="The network gave no pairing code: Rate limit: Too many codes"):
        await service.pairing_code(linked.db, linked.stage.clock, config, 60)
    asked = len(phone.requests)
    await phone.say(phone.frame("qr", code="2@y", seconds=20))  # which wakes the keeper
    async with patience(lambda: "the next code is shown"):
        while (await linked.row()).qr != "2@y":
            await asyncio.sleep(0.005)
    await linked.log_out()  # a later request
    await linked.check_unlinked()
    assert "pair" not in [frame["op"] for frame in phone.requests[asked:]]


async def test_the_owner_is_killed_between_the_logout_and_its_report(linked: Linked) -> None:
    """The row and the state are one commit: the request is not done before it is reported."""
    await linked.connect()
    async with linked.db.transaction() as conn:
        await conn.execute("SELECT FROM channels WHERE id = $1 FOR UPDATE", linked.stage.channel_id)
        await linked.log_out()
        await somebody_waits(conn)
        await linked.keeper.end()
    await linked.start()
    await linked.until("logged_out")
    await linked.check_unlinked()


async def test_the_state_is_saved_by_the_owner_alone(linked: Linked) -> None:
    await linked.own()
    lease = linked.stage.lease
    await linked.own()
    with pytest.raises(StaleOwner):
        await save_link_state(linked.db, lease, linked.stage.ref, NOW, "banned", None, wanted=True)
    assert ((await linked.config()).connection, (await linked.row()).wanted) == ("disconnected", False)


async def test_a_request_waits_for_the_owner_without_a_lock_that_the_owner_needs(linked: Linked) -> None:
    await linked.own()
    await update_link(linked.db, linked.stage.lease, linked_at=NOW)
    head, row = (
        f"SELECT FROM {table} WHERE channel_id = $1 FOR UPDATE" for table in ("channel_heads", "channel_links")
    )
    async with linked.db.transaction() as conn:
        await conn.execute(head, linked.stage.channel_id)
        requesting = asyncio.create_task(linked.log_out())
        await somebody_waits(conn)
        await conn.execute(f"{row} NOWAIT", linked.stage.channel_id)
    await requesting
    assert (await linked.row()).logout


async def test_a_message_that_could_not_be_stored_comes_again(linked: Linked) -> None:
    """The database rejects it, and neither is it unavailable, nor is the message at fault."""
    phone, who, at = linked.phone, {"from": {"phone": "15550003333"}}, NOW.timestamp()
    await linked.connect()
    message = phone.frame("message", id="A1", type="text", content={"body": "Oi"}, at=at, seq=7, **who)
    opened = phone.open
    phone.replies["open"] = lambda frame: [*opened(frame), message]
    await linked.db.execute("ALTER TABLE messages ADD CONSTRAINT no_a1 CHECK (network_id <> 'A1') NOT VALID")
    try:
        await phone.say(message)
        await phone.asked("open", 2)
        assert not [frame for frame in phone.requests if frame["op"] == "ack"]
    finally:
        await linked.db.execute("ALTER TABLE messages DROP CONSTRAINT no_a1")
    await phone.asked("ack")
    assert [row["network_id"] for row in await linked.stage.rows("messages")] == ["A1"]


async def somebody_waits(conn: Any) -> None:
    """Waits until another connection needs a lock that this one has."""
    blocked = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
    async with patience(lambda: "somebody waits for a lock"):
        while not await conn.fetchval(blocked):
            await asyncio.sleep(0.005)
