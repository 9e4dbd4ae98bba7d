"""Clients of several channels that send all the time, each message again with the same key until it is accepted."""

import asyncio
from collections.abc import Iterable, Sequence
from random import Random
from uuid import UUID

from tests.faults.clients import Clients, Order
from tests.faults.stage import Stage, StageChannel

RECIPIENTS = 6  # of each channel


class Load:
    """The clients, and what was answered to them."""

    def __init__(self, stage: Stage, channels: Sequence[StageChannel], rate: float, seed: int) -> None:
        self._stage = stage
        self._channels = channels
        self._pause = RECIPIENTS * len(channels) / rate
        self._seed = seed
        self._ending = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.clients: dict[UUID, Clients] = {}

    def begin(self) -> None:
        """Send from now on."""
        for index, channel in enumerate(self._channels):
            clients = self.clients[channel.id] = Clients(self._stage, api_key=channel.key)
            for phone in phones(index):
                self._tasks.append(asyncio.create_task(self._send(clients, phone)))

    async def end(self) -> None:
        """Begin no more messages, and wait until the last ones are accepted."""
        self._ending.set()
        await asyncio.gather(*self._tasks)

    def cancel(self) -> None:
        """Stop at once."""
        for task in self._tasks:
            task.cancel()

    def accepted(self, channel: StageChannel) -> dict[str, str]:
        """Return what was answered 200: the ids of messages by their reference."""
        return self.clients[channel.id].accepted_ids

    @property
    def count(self) -> int:
        return sum(len(clients.accepted_ids) for clients in self.clients.values())

    @property
    def refused(self) -> int:
        return sum(len(clients.refused) for clients in self.clients.values())

    def count_of(self, channels: Iterable[StageChannel]) -> int:
        """Return how many messages of some channels were accepted."""
        return sum(len(self.accepted(channel)) for channel in channels)

    def refusals_of(self, channels: Iterable[StageChannel]) -> list[int]:
        """Return the statuses of the answers to some channels that were not 200."""
        return [status for channel in channels for status in self.clients[channel.id].refused]

    async def _send(self, clients: Clients, phone: str) -> None:
        """Send messages to one recipient, in order."""
        random, number = Random(f"{self._seed} {phone}"), 0
        while not self._ending.is_set():
            await clients.send_one(Order(phone, number))
            number += 1
            await asyncio.sleep(self._pause * random.uniform(0.5, 1.5))


def phones(index: int) -> list[str]:
    """Return the recipients of the channel with this index."""
    return [f"55119{index:03}{person:05}" for person in range(RECIPIENTS)]
