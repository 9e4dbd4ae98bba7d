"""The open streams of accounts: one reader per node for all of them.

commit (event_waiters.py) ─► reader: one statement for all changed channels ─► feed of the account ─► its streams
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import msgspec

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.model.account_cursor import AccountCursor
from gatepost.model.errors import LimitReached, LimitState, Unavailable
from gatepost.services.account_feed import ALL_CHANGED, CHANNELS, PAGE, AccountFeed, AccountStream, Notice
from gatepost.services.event_waiters import EventWaiters
from gatepost.store.channels import ChannelVersion, list_versions
from gatepost.store.events import ChannelEvent, EventRange, read_ranges
from gatepost.store.notifications import AccountChange
from gatepost.store.pool import Database

_REFRESH = 2.0  # seconds between two looks at the channels of the accounts
# Seconds between two publications. Each costs per stream, so that many streams wait longer.
_GATHER_EACH, _GATHER_MIN, _GATHER_MAX = 0.0025, 0.05, 0.25


class ChannelWatch:
    """Passes the wake-ups of one channel on to the reader."""

    def __init__(self, version: ChannelVersion, feed: AccountFeed, wake: "Callable[[ChannelWatch], None]") -> None:
        self.channel_id = version.id
        self.version = version
        self.feed = feed
        self._wake = wake

    @property
    def current(self) -> bool:
        """Whether the account still has the channel, and a stream."""
        return self.channel_id in self.feed.positions and bool(self.feed.streams)

    def wake(self) -> None:
        self._wake(self)

    def end(self) -> None:
        """Do nothing: `AccountStreams.end` ends the streams."""


class AccountStreams:
    """All streams of accounts on this node."""

    def __init__(self, db: Database, clock: Clock, waiters: EventWaiters, limit: int) -> None:
        self._db = db
        self._clock = clock
        self._waiters = waiters
        self._limit = limit  # of streams of one user
        self._feeds: dict[UUID, AccountFeed] = {}
        self._watches: dict[UUID, dict[UUID, ChannelWatch]] = {}  # by account and channel
        self._users: Counter[UUID] = Counter()
        self._dirty: set[ChannelWatch] = set()
        self._new_events, self._someone = asyncio.Event(), asyncio.Event()
        self._closed = False

    async def open(self, account_id: UUID, user_id: UUID, cursor: AccountCursor | None) -> AccountStream:
        """Return a new stream, or raise if its user has too many. The caller must close it."""
        if self._closed:
            raise Unavailable("This node is about to stop. Try again in a moment.", "overloaded", retry_after=1)
        if self._users[user_id] >= self._limit:
            raise LimitReached(
                f"You have {self._limit} streams open already. Close one of them.",
                retry_after=1,
                limit=LimitState("streams", self._limit, 1, 0, 1),
            )
        self._users[user_id] += 1
        try:
            feed = self._feeds.get(account_id) or await self._make_feed(account_id)
        except BaseException:
            self._release(user_id)
            raise
        stream = AccountStream(feed, user_id, cursor)
        feed.streams.add(stream)
        self._someone.set()
        if self._closed:
            stream.end()
        return stream

    def close(self, stream: AccountStream) -> None:
        """Remove a stream. Closing it twice is allowed."""
        feed = stream.feed
        if stream not in feed.streams:
            return
        feed.streams.remove(stream)
        self._release(stream.user_id)
        if not feed.streams:
            del self._feeds[feed.account_id]
            for watch in self._watches.pop(feed.account_id).values():
                self._waiters.remove(watch)

    def end(self) -> None:
        """End all streams and reject new ones."""
        self._closed = True
        for stream in self._all():
            stream.end()

    def notify(self, account_id: UUID, notice: Notice, sender: UUID) -> None:
        """Send a notice to the streams of the other users of an account."""
        if account_id in self._feeds:
            self._feeds[account_id].notify(notice, sender)

    def report(self, change: AccountChange | None) -> None:
        """Tell the streams of an account what has changed; None: anything may have changed, in all accounts."""
        for feed in self._feeds.values():
            if change is None:
                feed.publish([], [ALL_CHANGED])
            elif feed.account_id == change.account_id or change.channel_id in feed.positions:
                feed.publish([], [_account_changed(change.resource, change.channel_id)])

    @property
    def count(self) -> int:
        """The number of open streams."""
        return self._users.total()

    async def step(self) -> None:
        """Read the new events of all accounts and publish them. This is the step of a loop."""
        await self._new_events.wait()
        self._new_events.clear()
        dirty, self._dirty = list(self._dirty), set()
        while dirty:
            try:
                await self._publish(dirty[:CHANNELS])
            except BaseException:
                self._wake(*dirty)
                raise
            del dirty[:CHANNELS]
        await asyncio.sleep(min(max(_GATHER_MIN, _GATHER_EACH * self.count), _GATHER_MAX))

    async def look_step(self) -> None:
        """Look for channels that were added, changed or deleted. This is the step of a loop."""
        await self._someone.wait()
        if self._feeds:
            await self.look()
            await asyncio.sleep(_REFRESH)
        else:
            self._someone.clear()

    async def look(self) -> None:
        """Follow the channels that the accounts have now, and report those that have changed."""
        feeds = dict(self._feeds)
        found: dict[UUID, dict[UUID, ChannelVersion]] = {account_id: {} for account_id in feeds}
        for version in await list_versions(self._db, list(feeds)):
            found[version.account_id][version.id] = version
        for account_id, feed in feeds.items():
            if feed.streams:
                self._follow(feed, found[account_id])

    async def _make_feed(self, account_id: UUID) -> AccountFeed:
        """Return the feed of an account, which begins now."""
        versions = await list_versions(self._db, [account_id])
        feed = self._feeds.get(account_id)
        if feed is None:
            feed = self._feeds[account_id] = AccountFeed(account_id, self._clock)
            self._watches[account_id] = {}
            for version in versions:
                self._add(feed, version, version.last_event_id)
        return feed

    def _follow(self, feed: AccountFeed, versions: Mapping[UUID, ChannelVersion]) -> None:
        notices, watches = [], self._watches[feed.account_id]
        for channel_id in watches.keys() - versions.keys():
            self._waiters.remove(watches.pop(channel_id))
            del feed.positions[channel_id]
            notices.append(_channel_changed(channel_id, "deleted"))
        for channel_id, version in versions.items():
            known = watches.get(channel_id)
            if known is None:
                self._add(feed, version, ids.ZERO)
                notices.append(_channel_changed(channel_id, "created"))
            else:
                if known.version.version != version.version:
                    notices.append(_channel_changed(channel_id, "updated"))
                if known.version.deliveries != version.deliveries:
                    notices.append(_account_changed("deliveries", channel_id))
                known.version = version
        if notices:
            feed.publish([], notices)

    def _add(self, feed: AccountFeed, version: ChannelVersion, position: UUID) -> None:
        feed.positions[version.id] = position
        watch = self._watches[feed.account_id][version.id] = ChannelWatch(version, feed, self._wake)
        self._waiters.add(watch)
        self._wake(watch)  # something may have happened since its position was read

    async def _publish(self, watches: list[ChannelWatch]) -> None:
        """Read what is new in some channels, and give it to their accounts."""
        watched = {watch.channel_id: watch for watch in watches if watch.current}
        ranges = [EventRange(channel_id, watch.feed.positions[channel_id]) for channel_id, watch in watched.items()]
        events, left = await read_ranges(self._db, ranges, PAGE) if ranges else ([], [])
        by_feed: dict[AccountFeed, list[ChannelEvent]] = {}
        for event in events:
            if watched[event.channel_id].current:
                by_feed.setdefault(watched[event.channel_id].feed, []).append(event)
        for feed, own in by_feed.items():
            feed.publish(own)
        if left:
            self._wake(*(watched[one.channel_id] for one in left))

    def _wake(self, *watches: ChannelWatch) -> None:
        self._dirty.update(watches)
        self._new_events.set()

    def _release(self, user_id: UUID) -> None:
        self._users[user_id] -= 1
        if not self._users[user_id]:
            del self._users[user_id]

    def _all(self) -> list[AccountStream]:
        return [stream for feed in self._feeds.values() for stream in feed.streams]


def _channel_changed(channel_id: UUID, change: str) -> Notice:
    return _notice("channel_changed", {"channel": {"id": ids.format_id("ch", channel_id)}, "change": change})


def _account_changed(resource: str, channel_id: UUID | None) -> Notice:
    channel = {"id": ids.format_id("ch", channel_id)} if channel_id else None
    return _notice("account_changed", {"resource": resource, "channel": channel})


def _notice(name: str, body: Mapping[str, Any]) -> Notice:
    return Notice(name, msgspec.json.encode(body).decode())
