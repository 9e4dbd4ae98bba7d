"""Adds the words of messages to the search index, a task of the channel's owner; see `store/search/index.py`.

pending messages (one snapshot) ─► contents, a bounded slice at a time ─► words (worker thread) ─► blocks, written
                                                                      └─ a message that fails ─► counted, retried
                                                                                  └─ again ─► set aside: no words
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

import structlog

from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.compute import compute
from gatepost.model import ids
from gatepost.model.search_words import words_of
from gatepost.store.channel_head import Lease
from gatepost.store.messages.history import read_contents
from gatepost.store.pool import UNFIT_DATA, Database
from gatepost.store.search import index as store
from gatepost.store.search.index import PendingIndex, SizedMessage, StaleBlock, WordBlock

log = structlog.get_logger("gatepost.search")
_RETRY = 5.0  # seconds until a failed message is retried
_SLICE_BYTES, _SLICE = 512 * 1024, 64  # contents to read and compute at once; a slice has at least one message

Words = dict[UUID, set[str]]


class Unindexable(Exception):
    """Messages whose words cannot be computed or stored."""

    def __init__(self, messages: Sequence[UUID]) -> None:
        super().__init__(f"{len(messages)} messages cannot be indexed")
        self.messages = messages


class SearchIndexTask(ChannelTask):
    """Keeps the index of a channel up to date. Messages that are not indexed yet are searched one by one."""

    name = "search index"
    first_wait = 5.0
    gather = 0.5  # seconds: a burst of messages then fills whole blocks

    def __init__(
        self,
        context: ChannelContext,
        *,
        count: Callable[[int], None],
        find: Callable[[UUID], Awaitable[bool | None]],
    ) -> None:
        super().__init__(context)
        self._count = count
        self._find = find

    async def work(self) -> float | None:
        more = await self._find(self._lease.channel_id)
        while more and self.going:
            try:
                more = await index_more(self._db, self._lease)
            except Unindexable as failed:
                await self._note(failed.messages)
                return _RETRY
        return None

    async def _note(self, messages: Sequence[UUID]) -> None:
        set_aside = await store.count_failures(self._db, self._lease, messages)
        self._count(len(set_aside))
        channel = self._lease.channel_id.hex
        for id_ in messages:
            if id_ in set_aside:
                log.error("message not indexed: found by date, not by words", channel=channel, id=ids.message_id(id_))
            else:
                log.warning("message could not be indexed, tried again", channel=channel, id=ids.message_id(id_))


async def index_more(db: Database, lease: Lease) -> bool:
    """Add late messages to their blocks, then write one new block. Return whether there may be more to do."""
    pending = await store.read_pending(db, lease)
    for covered in pending.again:
        blocks = await _pack_again(db, lease.channel_id, covered, pending)
        async with _blaming(db, lease, blocks, pending):
            await store.replace_block(db, lease, covered.last_id, blocks)
    new = await _pack_new(db, lease.channel_id, pending) if pending.fresh else None
    async with _blaming(db, lease, [new] if new else [], pending):
        await store.write_block(db, lease, pending, new)
    return pending.more


@asynccontextmanager
async def _blaming(
    db: Database, lease: Lease, blocks: Sequence[WordBlock], pending: PendingIndex
) -> AsyncIterator[None]:
    """If PostgreSQL rejects blocks, raise `Unindexable` with the messages that cause it."""
    try:
        yield
    except UNFIT_DATA as error:
        if not blocks:
            raise
        raise Unindexable(await _find_unfit(db, lease.channel_id, blocks, pending)) from error


async def _pack_again(db: Database, channel_id: UUID, covered: StaleBlock, pending: PendingIndex) -> list[WordBlock]:
    """Return the messages of one block as one new block, or as several if they have become too many."""
    blocks, rest = [], covered.messages
    while rest:
        found = await _read_words(db, channel_id, rest if len(rest) <= store.FULL else rest[: store.BLOCK], pending)
        rest = rest[len(found) :]
        end = max(found) if rest else covered.last_id
        blocks.append(await compute(store.build_block, channel_id, end, found))
    return blocks


async def _pack_new(db: Database, channel_id: UUID, pending: PendingIndex) -> WordBlock:
    found = await _read_words(db, channel_id, pending.fresh, pending)
    return await compute(store.build_block, channel_id, max(found), found)


async def _read_words(db: Database, channel_id: UUID, messages: Sequence[SizedMessage], pending: PendingIndex) -> Words:
    """Return the words of the messages, oldest first, for as many messages as fit into a block, but at least one."""
    found: Words = {}
    weight = 0
    for part in slices(messages):
        read = [message.id for message in part if message.id not in pending.set_aside]
        words, failed = await compute(words_of_each, await read_contents(db, channel_id, read))
        if failed:
            raise Unindexable(failed)
        for message in part:
            if found and weight > store.HEAVIEST:
                return found
            found[message.id], more = words.get(message.id, (set(), 0))
            weight += more
    return found


def slices(messages: Sequence[SizedMessage]) -> Iterator[list[SizedMessage]]:
    """Yield the messages in parts that are small enough to be read and computed at once."""
    part: list[SizedMessage] = []
    size = 0
    for message in messages:
        if part and (len(part) == _SLICE or size + message.size > _SLICE_BYTES):
            yield part
            part, size = [], 0
        part.append(message)
        size += message.size
    if part:
        yield part


def words_of_each(contents: Sequence[tuple[UUID, str]]) -> tuple[dict[UUID, tuple[set[str], int]], list[UUID]]:
    """Return the words of each message with their size in a block, and the messages whose words cannot be computed."""
    words, failed = {}, []
    for id_, content in contents:
        try:
            found = words_of(content)
            words[id_] = found, sum(len(word.encode()) + 16 for word in found)
        except Exception:
            log.exception("words not computed", id=ids.message_id(id_))
            failed.append(id_)
    return words, failed


async def _find_unfit(db: Database, channel_id: UUID, blocks: Sequence[WordBlock], pending: PendingIndex) -> list[UUID]:
    """Return the messages that PostgreSQL rejects in a block of their own, or all messages if it rejects none."""
    every = [id_ for block in blocks for id_ in block.ids if id_ not in pending.set_aside]
    unfit = []
    for id_ in every:
        words, _ = await compute(words_of_each, await read_contents(db, channel_id, [id_]))
        block = await compute(store.build_block, channel_id, id_, {id_: found for id_, (found, _) in words.items()})
        if words and not await store.block_fits(db, channel_id, block):
            unfit.append(id_)
    return unfit or every
