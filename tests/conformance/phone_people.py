"""People with phones: they get, read and play what the owner sends, each in their own way."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.conformance.phone_messages import taken
from tests.networks.qr.phones import Network

HABITS = {"silent": ("delivered",), "offline": (), "in_chat": ("read",)}


class Habit:
    """How one person's phone answers; by default it reports everything at once."""

    def __init__(self) -> None:
        self.shows: tuple[str, ...] = ("delivered", "read", "played")
        self.copies = 1
        self.backwards = False
        self.waits: dict[str, float] = {}  # seconds of the network's time, by what it reports


class People:
    """Everybody whom one linked phone writes to."""

    def __init__(self, network: Network, account: str, until_sent: Callable[[str], Awaitable[Any]]) -> None:
        self.absent: set[str] = set()
        self._network = network
        self._account = account
        self._until_sent = until_sent
        self._habits: dict[str, Habit] = {}
        self._known: set[str] = set()
        self._read: set[str] = set()
        self._later: list[tuple[float, str, str, str]] = []
        self._now = 0.0
        self._tasks = {asyncio.create_task(self._watch())}

    async def meet(self, person: str, name: str | None = None) -> None:
        """Makes sure that somebody is on the network."""
        if person not in self.absent and (name or person not in self._known):
            self._known.add(person)
            await self._network.do("person", phone=person, **({"name": name} if name else {}))

    def habit(self, person: str) -> Habit:
        return self._habits.setdefault(person, Habit())

    async def advance(self, seconds: float) -> None:
        """Lets time pass: what was to be reported later is reported."""
        self._now += seconds
        due = [one for one in self._later if one[0] <= self._now]
        self._later = [one for one in self._later if one[0] > self._now]
        for _, person, id_, status in due:
            await self.report(person, id_, status)

    async def report(self, person: str, id_: str, status: str) -> None:
        """A phone reports what became of a message."""
        about = {"from": person, "ids": [id_], "type": status, "account": self._account}
        await self._network.do("receipt", **about)

    def moved(self, old: str, new: str) -> None:
        self._known = self._known - {old} | {new}

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- reading ---------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            seen = await self._next()
            self._read.add(seen["id"])
            task = asyncio.create_task(self._get(seen))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _next(self) -> Any:
        """The next message for somebody that nobody has looked at yet."""
        while True:
            for one in self._network.seen:
                if one["saw"] == "message" and one["id"] not in self._read and self._is_ours(one):
                    return one
            await asyncio.sleep(0.01)

    def _is_ours(self, seen: Any) -> bool:
        return seen["account"] == self._account and not seen["refused"] and bool(seen["message"])

    async def _get(self, seen: Any) -> None:
        got, habit = taken(seen), self.habit(seen["phone"])
        if got is None or got.type == "reaction":
            return
        if not habit.backwards:  # a phone that is slower than our own book-keeping
            await self._until_sent(got.id)
        shown = [one for one in habit.shows if one != "played" or got.content.get("voice")]
        for status in reversed(shown) if habit.backwards else shown:
            await self._show(seen["phone"], got.id, status, habit)

    async def _show(self, person: str, id_: str, status: str, habit: Habit) -> None:
        wait = habit.waits.get(status)
        if wait is not None:
            self._later.append((self._now + wait, person, id_, status))
            return
        for _ in range(habit.copies):
            await self.report(person, id_, status)
