"""Clients that send their messages in order, and repeat each with the same key until it is accepted.

Those without keys look for their message under its `client_ref` before they repeat it.
"""

import asyncio
from collections.abc import Callable

import msgspec
from pyreqwest.exceptions import PyreqwestError

from tests.patience import PATIENCE
from tests.running_gateway import Gateway


class Order(msgspec.Struct, frozen=True):
    """A message to send, and its idempotency key."""

    phone: str
    number: int

    @property
    def key(self) -> str:
        return f"{self.phone}-{self.number}"

    @property
    def body(self) -> dict[str, str]:
        return {"phone": self.phone, "body": f"Message {self.number}", "client_ref": self.key}

    @property
    def before(self) -> str:
        """The key of the message before, to the same recipient."""
        return f"{self.phone}-{self.number - 1}"


def plan(recipients: int, each: int, first: int = 0) -> list[list[Order]]:
    """Return messages for each of several recipients, numbered from `first`."""
    numbers = range(first, first + each)
    return [[Order(f"55119000{person:05}", number) for number in numbers] for person in range(recipients)]


class Clients:
    """Concurrent clients, and the ids of their accepted messages.

    With `replies`, each message quotes the one before it, and so is not a plain one (`accept_plain.py`).
    """

    def __init__(
        self, gateway: Gateway, *, keyed: bool = True, replies: bool = False, api_key: str | None = None
    ) -> None:
        self._gateway = gateway
        self._replies = replies
        self._keyed = keyed
        self._api_key = api_key
        self.accepted_ids: dict[str, str] = {}
        self.refused: list[int] = []

    async def send(self, orders: list[list[Order]]) -> None:
        """Send the messages of all clients concurrently, each client in its order."""
        await asyncio.gather(*(self._send_in_order(line) for line in orders))

    async def send_while(self, alive: Callable[[], bool], recipients: int, each: int) -> list[Order]:
        """Send `each` messages to each recipient, then one more each while a process is `alive`; return them all.

        A process that ends at the nth call of a function always gets there: how many messages share a call depends
        on the speed of the machine.
        """
        orders = plan(recipients, each)
        await self.send(orders)
        sent = [order for line in orders for order in line]
        while alive():
            more = plan(recipients, 1, first=each)
            await self.send(more)
            sent += [order for line in more for order in line]
            each += 1
            await asyncio.sleep(0.2)
        return sent

    async def _send_in_order(self, orders: list[Order]) -> None:
        for order in orders:
            await self.send_one(order)

    async def send_one(self, order: Order) -> None:
        """Repeat a message until it is accepted."""
        while (message_id := await self.ask(order)) is None:
            await asyncio.sleep(0.05)
            message_id = None if self._keyed else await self.find(order)
            if message_id is not None:
                break
        assert self.accepted_ids.setdefault(order.key, message_id) == message_id

    async def ask(self, order: Order) -> str | None:
        """Send one request. Return None if it has to be repeated."""
        headers = {"Idempotency-Key": order.key} if self._keyed else {}
        quoted = self.accepted_ids.get(order.before) if self._replies else None
        body = order.body | ({"reply_to": quoted} if quoted else {})
        try:
            answer = await self._gateway.call("POST", "/api/v1/message/send", body, headers=headers, key=self._api_key)
        except PyreqwestError:
            return None
        if answer.status != 200:
            assert answer.status in (409, 503), answer.body
            self.refused.append(answer.status)
            return None
        message_id: str = answer.json()["data"]["key"]["id"]
        return message_id

    async def find(self, order: Order) -> str | None:
        """Return the message of an order, once no statement runs any more that began before now."""
        async with asyncio.timeout(PATIENCE), self._gateway.db.connection() as conn:
            began = await conn.fetchval("SELECT clock_timestamp()")
            while await conn.fetchval(
                """SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                   AND xact_start < $1 LIMIT 1""",
                began,
            ):
                await asyncio.sleep(0.01)
            found = await conn.fetchval("SELECT id FROM messages WHERE client_ref = $1", order.key)
        return found.hex.upper() if found else None
