"""A stage for one channel: a real database, a clock that is moved by hand, and a network that lives inside the test.

stage = await make_stage(db)
await stage.accept("5511999998888", "Hello")
await stage.drive(10)                  the lane does all that is due within ten seconds of the clock
stage.network.calls                    what the network was asked, and when
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from inspect import isawaitable
from typing import Any
from uuid import UUID, uuid4

import msgspec

from gatepost.admin import accounts, channels
from gatepost.channel_task import ChannelContext
from gatepost.grouped_lookup import GroupedLookup
from gatepost.inbound.receive import UpdateReceiver
from gatepost.model import ids
from gatepost.model.account import Caller, Plan, Principal
from gatepost.model.errors import Unavailable
from gatepost.model.event import ChannelRef
from gatepost.model.message import STATUS
from gatepost.model.send_request import SendRequest
from gatepost.networks.base import Incoming, Network, Outgoing, Person, Receipt, RemoteMedia, SendAccepted, StatusUpdate
from gatepost.outbound.accept import Acceptor
from gatepost.outbound.backoff import Backoff
from gatepost.outbound.channel_sender import ChannelSender
from gatepost.outbound.number_limits import NumberLimits
from gatepost.outbound.send_decision import SendRules
from gatepost.outbound.send_recorder import SendRecorder
from gatepost.outbound.sender_state import Attach, ReportConnection, SenderState
from gatepost.outbound.senders_now import SendersNow
from gatepost.store.channel_head import Lease
from gatepost.store.leases import claim_channel, release_channel
from gatepost.store.messages.history import StoredMessage, get_message
from gatepost.store.messages.queue import read_new_messages
from gatepost.store.pool import Database
from tests.movable_clock import MovableClock

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
PLANS = {"unlimited": Plan("Unlimited")}
FAST = NumberLimits(throughput=100_000, pair_seconds=0, pair_burst=10_000, tier=0)
RULES = SendRules(in_flight=256, read_ahead=5000, unknown_grace=30, retry_base=2, retry_most=300, attempts=3)

Answer = Callable[[Outgoing], Receipt | Awaitable[Receipt]]


async def check_no_link(_link: str) -> None:
    """The stage sends no links."""


class Call(msgspec.Struct, frozen=True):
    """One message as the network got it; `at` counts seconds since the stage was set."""

    at: float
    message: Outgoing

    @property
    def body(self) -> str:
        body: str = msgspec.json.decode(self.message.content)["body"]
        return body


class TestNetwork:
    """A network of the test's own: notes every call, and answers what the test says."""

    __test__ = False
    editor = number_check = None

    def __init__(self, clock: MovableClock) -> None:
        self.calls: list[Call] = []
        self.answer: Answer = lambda message: SendAccepted(f"wamid.{message.id.hex}.{message.attempt}")
        self.most_at_once = 0
        self._clock = clock
        self._start = clock.monotonic()
        self._flying: list[str] = []

    async def send(self, message: Outgoing) -> Receipt:
        assert message.phone not in self._flying, "two messages of one conversation at once"
        self._flying.append(message.phone)
        self.most_at_once = max(self.most_at_once, len(self._flying))
        self.calls.append(Call(round(self._clock.monotonic() - self._start, 3), message))
        try:
            receipt = self.answer(message)
            return await receipt if isawaitable(receipt) else receipt
        finally:
            self._flying.remove(message.phone)

    async def mark_read(
        self, network_id: str, person: Person, *, earlier: Sequence[str] = (), typing: bool = False
    ) -> None:
        """Nobody looks."""

    async def put_media(self, content: bytes, mime_type: str, filename: str | None) -> str:
        return f"media.{len(content)}"

    async def get_media(self, media: RemoteMedia, most: int) -> bytes:
        return b"bytes"

    async def close(self) -> None:
        """Nothing is open."""

    @property
    def bodies(self) -> list[str]:
        return [call.body for call in self.calls]

    @property
    def times(self) -> list[float]:
        return [call.at for call in self.calls]


async def report_nothing(_state: str, _reason: str | None, _token_rejected: bool) -> None:
    """The state of the channel is not shown."""


async def attach_nothing(_network: Network, _content: str, _type: str) -> dict[str, str]:
    return {}


async def forget_nothing(_media: Mapping[str, str]) -> bool:
    return False


def make_state(
    context: ChannelContext,
    rules: SendRules = RULES,
    limits: NumberLimits = FAST,
    network: Network | None = None,
    report_connection: ReportConnection = report_nothing,
    attach: Attach = attach_nothing,
    backoff: Backoff | None = None,
) -> SenderState:
    """Return the state of a sender that is alone in its process."""
    return SenderState(
        context,
        SendRecorder(context.db, context.clock, 0.0),
        rules,
        limits,
        network,
        report_connection,
        attach,
        forget_nothing,
        GroupedLookup(partial(read_new_messages, context.db)).find,
        SendersNow(),
        backoff=backoff or Backoff(),
    )


class Stage:
    """One channel with its current owner, and functions to use it."""

    def __init__(self, db: Database, clock: MovableClock, caller: Caller) -> None:
        db = self.db = db.notifying(self._on_commit)
        self.clock = clock
        self.caller = caller
        self.channel_id = caller.channel_id
        self.ref = ChannelRef(ids.format_id("ch", caller.channel_id), caller.kind, caller.phone)
        self.network = TestNetwork(clock)
        self.acceptor = Acceptor(db, clock, PLANS, 1000, check_no_link)
        self.receiver = UpdateReceiver(db, clock, 1000, 0.0)
        self.commits: list[tuple[UUID, bool]] = []  # changed channels; whether there may be something to send
        self.states: list[tuple[float, str, str | None]] = []  # states of the channel: when, which, why
        self.outages = 0  # how often the next state of the channel cannot be saved
        self.attach: Attach = attach_nothing
        self.sender: ChannelSender
        self.lease: Lease

    async def take_over(
        self,
        limits: NumberLimits = FAST,
        rules: SendRules = RULES,
        *,
        connected: bool = True,
        alive: Callable[[], bool] = bool,
        limited: bool = False,
    ) -> ChannelSender:
        """Claims the channel for a new owner, and returns its sender."""
        if hasattr(self, "lease"):
            await release_channel(self.db, self.lease, seen=None, work_at=None)
        lease = await claim_channel(self.db, self.channel_id, uuid4(), 3600)
        assert lease is not None
        lives = (lambda: True) if alive is bool else alive
        self.lease = lease
        self.sender = ChannelSender(
            make_state(
                ChannelContext(self.db, self.clock, lease, self.ref, lives),
                rules,
                limits,
                self.network if connected else None,
                report_connection=self._report,
                attach=self._attach,
                backoff=Backoff(limited=limited),
            )
        )
        return self.sender

    async def _attach(self, network: Network, content: str, type_: str) -> dict[str, str] | Receipt:
        return await self.attach(network, content, type_)

    async def _report(self, state: str, reason: str | None, _token_rejected: bool) -> None:
        if self.outages:
            self.outages -= 1
            raise Unavailable("The database cannot be reached.", "database_unavailable")
        at = (self.clock.now() - NOW).total_seconds()
        self.states.append((round(at, 3), state, reason))

    async def accept(self, phone: str, body: str = "Hello", **options: Any) -> UUID:
        """Accepts a message; gives its id."""
        accepted = await self.acceptor.accept(self.caller, SendRequest(phone=phone, body=body, **options))
        return UUID(hex=msgspec.json.decode(accepted.answer)["data"]["key"]["id"])

    async def accept_many(self, phones: list[str], **options: Any) -> list[UUID]:
        calls = (self.accept(phone, f"{i}", **options) for i, phone in enumerate(phones))
        return await asyncio.gather(*calls)

    def wake(self) -> None:
        if hasattr(self, "sender"):
            self.sender.wake()

    def _on_commit(self, channel_id: UUID, *, sending: bool, tasks: bool = True) -> None:
        self.commits.append((channel_id, sending))
        if sending:
            self.wake()

    async def drive(self, seconds: float, *, stride: float = 1e-6) -> None:
        """Lets the lane do everything that falls due within this time, moving the clock from one thing to the next.

        Use a longer stride for long waits: waiting messages are checked twice a second.
        """
        end = self.clock.monotonic() + seconds
        while True:
            again = await self.settle()
            now = self.clock.monotonic()
            if again is None or again >= end:
                self.clock.advance(end - now)
                await self.settle()
                return
            self.clock.advance(min(max(again - now, stride), end - now))

    async def settle(self) -> float | None:
        """Does what is due at this very moment; gives when something is due next, which lies ahead."""
        for _ in range(2000):
            called, again = len(self.network.calls), await self.sender.step()
            await self.sender.settled()
            if len(self.network.calls) == called and (again is None or again > self.clock.monotonic()):
                return again
        raise AssertionError("the sender never settles")

    async def report(self, message_id: UUID, *statuses: str, attempt: int = 1) -> None:
        """Statuses from the network, one report each."""
        for status in statuses:
            network_id = f"wamid.{message_id.hex}.{attempt}"
            update = StatusUpdate(network_id, status, self.clock.now(), message_id, attempt)
            await self.receiver.receive(self.channel_id, self.ref, [update])
        self.wake()  # as the sweep does when there are new events

    async def receive_text(self, phone: str, text: str = "Hi") -> None:
        """A person writes."""
        content = msgspec.json.encode({"body": text}).decode()
        incoming = Incoming(f"wamid.{uuid4().hex}", Person(phone, name="Ana"), "text", content, self.clock.now())
        await self.receiver.receive(self.channel_id, self.ref, [incoming])
        self.wake()

    async def message(self, message_id: UUID) -> StoredMessage:
        message = await get_message(self.db, self.channel_id, message_id)
        assert message is not None
        return message

    async def pace(self) -> dict[str, Any]:
        """What is shown of the limits and of what holds sending back."""
        shown: dict[str, Any] = msgspec.json.decode((await self.rows("channel_heads"))[0]["pace"])
        return shown

    async def status(self, message_id: UUID) -> str:
        return STATUS[(await self.message(message_id)).state]

    async def acks(self, message_id: UUID) -> list[str]:
        """The statuses of a message in its events, in their order."""
        key = ids.message_id(message_id)
        bodies = [msgspec.json.decode(row["body"]) for row in await self.rows("events", "ORDER BY seq")]
        told = [body["data"] for body in bodies if body["data"].get("key", {}).get("id") == key]
        return [data["status"] for data in told]

    async def rows(self, table: str, tail: str = "") -> list[Any]:
        async with self.db.connection() as conn:
            return list(await conn.fetch(f"SELECT * FROM {table} WHERE channel_id = $1 {tail}", self.channel_id))

    async def check_floor(self) -> UUID:
        """The floor may not pass anything that is still to be sent."""
        async with self.db.connection() as conn:
            floor: UUID = await conn.fetchval(
                "SELECT send_floor FROM channel_heads WHERE channel_id = $1", self.channel_id
            )
        unsettled = await self.rows("messages", "AND NOT incoming AND state IN (0, 1) AND send_at IS NULL")
        assert all(row["id"] > floor for row in unsettled)
        return floor


async def make_stage(db: Database) -> Stage:
    """A new account with one channel, and a clock that stands at NOW."""
    account = await accounts.create_account(db, "Test", "unlimited", plans=PLANS, trial_days=14, now=NOW)
    phone = f"1555{uuid4().int % 10**7:07d}"
    channel = await channels.create_qr(db, account.id, phone=phone, name="Test", limits={}, now=NOW)
    caller = Caller(
        Principal("key", uuid4(), frozenset({"send"})),
        channel_id=channel.id,
        account_id=account.id,
        kind="official",
        phone=phone,
        plan="unlimited",
        suspended=False,
        api_access=True,
        trial_ends_at=NOW + timedelta(days=14),
        window=False,
    )
    return Stage(db, MovableClock(NOW), caller)
