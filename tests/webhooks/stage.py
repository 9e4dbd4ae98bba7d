"""A stage for deliveries: a channel with endpoints at a real receiver, and a clock that the test moves.

stage = await make_stage(db, receiver)
hook = await stage.add("/shop", ordered=True)
await stage.take_over()                 a new owner: a deliverer for each endpoint
await stage.emit(3, ANA)                three events of a conversation
await stage.drive(60)                   all that is due within a minute
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec

from gatepost.model import ids
from gatepost.model.endpoint import DeliveryOptions
from gatepost.model.event import ALL_TYPES, SYSTEM, TYPES, AnyEvent
from gatepost.model.event.messages import MessageCreated
from gatepost.model.signing import decode_secret
from gatepost.store.channel_head import Lease, channel_transaction
from gatepost.store.deliveries.queue import save_cursors
from gatepost.store.endpoints import Endpoint, get_endpoint, insert_endpoint, list_delivering
from gatepost.store.leases import claim_channel, release_channel
from gatepost.store.pool import Database
from gatepost.webhooks.delivery_context import TOTAL_IN_FLIGHT, ChannelDelivery, DeliveryContext
from gatepost.webhooks.delivery_request import DeliveryCredentials, SigningKey
from gatepost.webhooks.endpoint_deliverer import EndpointDeliverer
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_post import Poster
from tests.conftest import Received, Receiver
from tests.movable_clock import MovableClock
from tests.outbound import stage as outbound
from tests.patience import PATIENCE

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
ANA, BOB, EVE = (UUID(int=number) for number in (1, 2, 3))


def open_target(target: Endpoint) -> DeliveryCredentials:
    return DeliveryCredentials([SigningKey(decode_secret(SECRET), None)], target.headers)


class Stage:
    """One channel, its current owner, and what tests do with it."""

    def __init__(self, db: Database, receiver: Receiver, channel: outbound.Stage) -> None:
        self.db = db.notifying(self._on_commit)
        self.receiver = receiver
        self.clock = MovableClock(datetime.now(UTC))
        self.start = self.clock.now()
        self.channel_id, self.ref = channel.channel_id, channel.ref
        self.poster = Poster(Guard(("127.0.0.0/8",)), deadline=10 * PATIENCE)
        self.context = self.new_context()
        self.deliverers: dict[UUID, EndpointDeliverer] = {}
        self.lease: Lease | None = None

    def new_context(self, total: int = TOTAL_IN_FLIGHT) -> DeliveryContext:
        return DeliveryContext(self.db, self.clock, self.poster, 0.0, total=total)

    def wake(self) -> None:
        for one in self.deliverers.values():
            one.wake()

    def _on_commit(self, channel_id: UUID, *, sending: bool, tasks: bool = True) -> None:
        self.wake()

    # -- users --------------------------------------------------------------------------------------------------------

    async def add(
        self, path: str = "/hook", *, url: str = "", system: bool = False, only: Sequence[str] = (), **options: Any
    ) -> UUID:
        """Add an endpoint at the receiver; return its id."""
        made = await insert_endpoint(
            self.db,
            self.channel_id,
            ids.new_id(self.clock.now()),
            url=url or self.receiver.url + path,
            events=only or (ALL_TYPES if system else TYPES),
            headers={},
            secret=b"",
            options=DeliveryOptions(**options),
            limit=20,
            now=self.clock.now(),
        )
        assert made is not None
        return made.id

    async def emit(
        self, count: int = 1, conversation_id: UUID | None = None, data: AnyEvent | None = None
    ) -> list[UUID]:
        """Emit events; return their ids."""
        now = self.clock.now()
        async with channel_transaction(self.db, self.ref, self.channel_id, now) as transaction:
            buffer = transaction.event_buffer
            emitted = [buffer.add(data or MessageCreated.example(), conversation_id) for _ in range(count)]
        self.wake()
        return emitted

    # -- the owner ----------------------------------------------------------------------------------------------------

    async def take_over(self, *, in_flight: int = 64, context: DeliveryContext | None = None) -> None:
        """Claim the channel for a new owner, which knows nothing of the memory of the last one."""
        if self.lease:
            await release_channel(self.db, self.lease, seen=None, work_at=None)
        self.lease = await claim_channel(self.db, self.channel_id, uuid4(), 3600)
        assert self.lease is not None
        self.context = context or self.context
        self.deliverers = {}
        await self.refresh(in_flight)

    async def refresh(self, in_flight: int = 64) -> None:
        """Read the endpoints again."""
        assert self.lease is not None
        asked = {id_: one.changes for id_, one in self.deliverers.items()}
        listed = await list_delivering(self.db, [self.channel_id])
        targets = {target.id: target for target in listed.get(self.channel_id, [])}
        self.deliverers = {id_: one for id_, one in self.deliverers.items() if id_ in targets}
        for id_, target in targets.items():
            if id_ in self.deliverers:
                assert self.deliverers[id_].change(target, asked[id_])
            else:
                delivery = ChannelDelivery(self.context, self.lease, self.ref, open_target, in_flight, lambda: True)
                self.deliverers[id_] = EndpointDeliverer(delivery, target)

    async def save(self) -> None:
        """Save the cursors, as the owner does each second."""
        assert self.lease is not None
        progress = {id_: one.progress for id_, one in self.deliverers.items()}
        await save_cursors(self.db, {self.lease: progress}, wait=True)

    async def drive(self, seconds: float) -> None:
        """Do everything that is due within this time, moving the clock from one step to the next."""
        end = self.clock.monotonic() + seconds
        while True:
            again = await self.settle()
            now = self.clock.monotonic()
            if again is None or now + again >= end:
                self.clock.advance(end - now)
                await self.settle()
                return
            self.clock.advance(again + 1e-6)

    async def settle(self) -> float | None:
        """Do what is due now; return the seconds until the next step."""
        for _ in range(5000):
            waits = [await self._turn(one) for one in self.deliverers.values()]
            ahead = [wait for wait in waits if wait is not None]
            if not ahead or min(ahead) > 0:
                return min(ahead, default=None)
        raise AssertionError("a deliverer never becomes idle")

    async def _turn(self, one: EndpointDeliverer) -> float | None:
        wait = await one.step()
        if not one.in_flight:
            return wait
        await one.settled()
        return 0.0

    # -- results ------------------------------------------------------------------------------------------------------

    def received(self, path: str = "/hook") -> list[Received]:
        return [request for request in self.receiver.requests if request.path == path]

    def events_at(self, path: str = "/hook") -> list[str]:
        """Return the ids of the received events, from single POSTs and batches."""
        bodies = [request.json() for request in self.received(path)]
        return [event["id"] for body in bodies for event in body.get("events", [body])]

    def seconds(self) -> float:
        """Return the seconds since the stage was made."""
        return (self.clock.now() - self.start).total_seconds()

    async def endpoint(self, id_: UUID) -> Endpoint:
        found = await get_endpoint(self.db, self.channel_id, id_)
        assert found is not None
        return found

    async def notices(self) -> list[dict[str, Any]]:
        """Return the system notifications: their data with the action."""
        bodies = [msgspec.json.decode(row["body"]) for row in await self.rows("events", "ORDER BY seq")]
        return [{"action": body["action"], **body["data"]} for body in bodies if body["type"] == SYSTEM]

    async def rows(self, table: str, tail: str = "") -> list[Any]:
        async with self.db.connection() as conn:
            return list(await conn.fetch(f"SELECT * FROM {table} WHERE channel_id = $1 {tail}", self.channel_id))

    async def request_retries(self, endpoint_id: UUID, event_ids: Sequence[UUID]) -> None:
        """Request retries of deliveries."""
        async with self.db.transaction() as conn:
            await conn.execute(
                """UPDATE deliveries SET state = 0, begun = attempts, settled_at = NULL
                   WHERE channel_id = $1 AND endpoint_id = $2 AND event_id = ANY ($3)""",
                self.channel_id,
                endpoint_id,
                event_ids,
            )
            await conn.execute(
                """INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at)
                   SELECT $1, $2, id, $4 FROM unnest($3::uuid[]) id""",
                self.channel_id,
                endpoint_id,
                event_ids,
                self.clock.now(),
            )
        await self.refresh()


def event_ids(event_ids: Sequence[UUID]) -> list[str]:
    return [ids.format_id("evt", id_) for id_ in event_ids]


async def make_stage(db: Database, receiver: Receiver) -> Stage:
    """Return a new channel without an owner; its clock starts at the current time."""
    return Stage(db, receiver, await outbound.make_stage(db))


def near(wait: float, wanted: float, slack: float = 0.2) -> bool:
    """Return whether a delay is within the jitter."""
    return wanted * (1 - slack) - 1 <= wait <= wanted * (1 + slack) + 1


DAY = timedelta(days=1).total_seconds()
