"""Attaching files: each goes to the network once while the network knows it, and every failure is a receipt."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from obstore.store import from_url

from gatepost.model import ids
from gatepost.model.file import FetchedFile, FetchFailure
from gatepost.networks.base import CallFailed, ErrorReaction, NetworkError, Receipt, SendNotMade, SendRefused
from gatepost.outbound.attachments import FRESH, OFFICIAL_KEEP, SLOW, AttachmentUploader, media_ids, media_links
from gatepost.store.media.files import delete_media
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.pool import Database
from tests.for_each import for_each
from tests.services.media_stage import MediaStage, failing, make_media_stage

ONE, TWO = UUID(int=1), UUID(int=2)
LINK = "https://files.example/a.png"


class Links:
    """What is behind each link, and which were fetched."""

    def __init__(self) -> None:
        self.behind: dict[str, FetchedFile | FetchFailure] = {LINK: FetchedFile(b"linked", "image/png")}
        self.fetched: list[tuple[str, int]] = []

    async def __call__(self, url: str, most: int, _channel_id: UUID) -> FetchedFile | FetchFailure:
        self.fetched.append((url, most))
        return self.behind[url]


@pytest.fixture
async def media_stage(db: Database, tmp_path: Path) -> MediaStage:
    """Give a channel with its own files, network and clock."""
    return await make_media_stage(db, tmp_path)


def attacher(media_stage: MediaStage, links: Links | None = None, in_flight: int = 8) -> AttachmentUploader:
    return AttachmentUploader(
        media_stage.db, media_stage.objects, media_stage.clock, links or Links(), most=1000, in_flight=in_flight
    )


def show(id_: UUID) -> str:
    return ids.format_id("med", id_)


def content(**fields: Any) -> str:
    return msgspec.json.encode(fields).decode()


def image(*files: UUID) -> str:
    parts = [{"media": {"id": show(id_)}} for id_ in files]
    return content(**parts[0], caption="Look", cards=parts[1:])


# -- which files ------------------------------------------------------------------------------------------------------


@for_each(
    ("given", "found"),
    [
        (content(body="Hello"), ()),
        (content(body=f"my file is {show(ONE)}"), ()),
        (content(media={"id": show(ONE)}), (ONE,)),
        (content(media={"link": f"https://x/{show(ONE)}"}), ()),
        (content(body="x", header={"type": "image", "media": {"id": show(ONE)}}, buttons=[{"id": show(TWO)}]), (ONE,)),
        (content(template={"header": {"type": "image", "media": {"id": show(ONE)}}}), (ONE,)),
        (content(template={"components": [{"parameters": [{"type": "image", "image": {"id": show(TWO)}}]}]}), (TWO,)),
        (content(template={"components": [{"parameters": [{"type": "gif", "gif": {"id": show(TWO)}}]}]}), (TWO,)),
        (
            content(a=[{"media": {"id": show(TWO)}}, {"media": {"id": show(ONE)}}, {"media": {"id": show(TWO)}}]),
            (TWO, ONE),
        ),
        (content(media={"id": "med_nonsense"}), ()),
        (content(media={"id": 7}, text="med_"), ()),
        ('not even JSON, and not parsed: "link', ()),
    ],
)
def test_the_files_of_a_message(given: str, found: tuple[UUID, ...]) -> None:
    assert media_ids(given) == found


def test_the_links_of_a_message() -> None:
    assert media_links(content(body="a link")) == ()
    assert media_links(content(media={"link": LINK})) == (LINK,)
    assert media_links(content(header={"media": {"link": LINK}}, cta={"link": "https://no.file"})) == (LINK,)


# -- once, and again when the network forgot ---------------------------------------------------------------------------


async def test_a_message_without_files_asks_nobody(media_stage: MediaStage) -> None:
    assert await attacher(media_stage).attach(media_stage.channel_id, media_stage.network, content(body="Hello")) == {}
    assert media_stage.network.put == []


async def test_each_file_is_handed_over_once(media_stage: MediaStage) -> None:
    one = await media_stage.store(b"one", "image/png", "one.png")
    two = await media_stage.store(b"two", "application/pdf")
    for some in (attacher(media_stage), attacher(media_stage)):  # and by the next process too
        names = await some.attach(media_stage.channel_id, media_stage.network, image(one.id, two.id))
        assert names == {show(one.id): "network-1", show(two.id): "network-2"}
    assert media_stage.network.put == [(b"one", "image/png", "one.png"), (b"two", "application/pdf", None)]


async def test_a_file_is_handed_over_again_before_the_network_forgets_it(media_stage: MediaStage) -> None:
    one, some = await media_stage.store(b"one"), attacher(media_stage)
    await some.attach(media_stage.channel_id, media_stage.network, image(one.id))
    media_stage.clock.advance(OFFICIAL_KEEP.total_seconds() - 1)
    assert await some.attach(media_stage.channel_id, media_stage.network, image(one.id)) == {show(one.id): "network-1"}
    media_stage.clock.advance(1)
    assert await some.attach(media_stage.channel_id, media_stage.network, image(one.id)) == {show(one.id): "network-2"}
    later = timedelta(seconds=1)
    assert await some.attach(media_stage.channel_id, media_stage.network, image(one.id), keep=later) == {
        show(one.id): "network-2"
    }


async def test_a_file_that_the_network_forgot_before_its_time_is_handed_over_again(media_stage: MediaStage) -> None:
    one, some = await media_stage.store(b"one"), attacher(media_stage)
    old = {show(one.id): "network-1"}
    assert await some.attach(media_stage.channel_id, media_stage.network, image(one.id)) == old
    media_stage.clock.advance(FRESH.total_seconds() - 1)
    assert not await some.forget(media_stage.channel_id, old), (
        "it was handed over a moment ago: something else is wrong"
    )
    media_stage.clock.advance(1)
    assert await some.forget(media_stage.channel_id, old)
    assert await some.forget(media_stage.channel_id, old), "a second message, refused for the same"
    assert await some.attach(media_stage.channel_id, media_stage.network, image(one.id)) == {show(one.id): "network-2"}
    assert await some.forget(media_stage.channel_id, old), "and a third, that comes late"
    assert not await some.forget(media_stage.channel_id, {show(one.id): "network-2"})
    assert len(media_stage.network.put) == 2


async def test_a_message_with_such_a_file_is_tried_again_while_the_database_is_unavailable(
    media_stage: MediaStage, database_url: str
) -> None:
    one = await media_stage.store(b"one")
    media_stage.db = await Database.connect(database_url)
    await media_stage.db.close()
    assert await attacher(media_stage).forget(media_stage.channel_id, {show(one.id): "network-1"})


async def test_what_has_no_file_of_ours_has_nothing_to_forget(media_stage: MediaStage) -> None:
    assert not await attacher(media_stage).forget(media_stage.channel_id, {})
    assert not await attacher(media_stage).forget(media_stage.channel_id, {LINK: "network-1", show(ONE): "network-1"})


async def test_many_messages_with_one_file_upload_it_once(media_stage: MediaStage) -> None:
    opened = asyncio.Event()

    async def slowly(number: int) -> str:
        await opened.wait()
        return f"network-{number}"

    media_stage.network.on_put = slowly
    one, some = await media_stage.store(b"one"), attacher(media_stage)
    calls = [
        asyncio.create_task(some.attach(media_stage.channel_id, media_stage.network, image(one.id))) for _ in range(20)
    ]
    while not media_stage.network.put:
        await asyncio.sleep(0.005)
    calls[0].cancel()  # the one that began it gives up; the others still get the file
    opened.set()
    names = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(names[0], asyncio.CancelledError)
    assert names[1:] == [{show(one.id): "network-1"}] * 19
    assert len(media_stage.network.put) == 1


async def test_a_session_has_its_own_names(media_stage: MediaStage) -> None:
    one, some = await media_stage.store(b"one"), attacher(media_stage)
    found = [
        await some.attach(media_stage.channel_id, media_stage.network, image(one.id), session=session)
        for session in (media_stage.network, media_stage.network, "b", "b", media_stage.network)
    ]
    assert [names[show(one.id)] for names in found if isinstance(names, dict)] == [
        f"network-{n}" for n in (1, 1, 2, 2, 3)
    ]
    assert (await media_stage.get(one.id)).network_id is None


async def test_a_deleted_file_is_not_sent_although_the_session_knows_it(media_stage: MediaStage) -> None:
    one, some = await media_stage.store(b"one"), attacher(media_stage)
    arguments = (media_stage.channel_id, media_stage.network, image(one.id))
    assert isinstance(await some.attach(*arguments, session="a"), dict)
    await delete_media(media_stage.db, media_stage.channel_id, one.id)
    receipt = await some.attach(*arguments, session="a")
    assert isinstance(receipt, SendRefused)
    assert receipt.error.title == f"The file {show(one.id)} is gone"


async def test_a_channel_has_a_quarter_of_the_room(media_stage: MediaStage, db: Database, tmp_path: Path) -> None:
    opened, flying, most = asyncio.Event(), 0, 0

    async def counted(number: int) -> str:
        nonlocal flying, most
        flying, most = flying + 1, max(most, flying + 1)
        await opened.wait()
        flying -= 1
        return f"network-{number}"

    media_stage.network.on_put = counted
    stored = [await media_stage.store(b"%d" % n) for n in range(5)]
    some = attacher(media_stage, in_flight=8)
    calls = [
        asyncio.create_task(some.attach(media_stage.channel_id, media_stage.network, image(one.id))) for one in stored
    ]
    while flying < 2:
        await asyncio.sleep(0.005)
    other = await make_media_stage(db, tmp_path)
    theirs = await other.store(b"theirs")
    assert await some.attach(other.channel_id, other.network, image(theirs.id)) == {show(theirs.id): "network-1"}
    opened.set()
    await asyncio.gather(*calls)
    assert most == 2


# -- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("retry", "status", "ending"),
    [
        (False, 400, ErrorReaction.FINAL),
        (True, 500, ErrorReaction.RETRY),
        (True, 429, ErrorReaction.RETRY),
        (True, 429, ErrorReaction.HOLD_CHANNEL),
        (False, 401, ErrorReaction.BREAK),
        (True, 0, None),
    ],
)
async def test_the_networks_no_is_a_receipt(
    media_stage: MediaStage, retry: bool, status: int, ending: ErrorReaction | None
) -> None:
    one, some = await media_stage.store(b"one"), attacher(media_stage)
    media_stage.network.on_put = failing(retry=retry, status=status, reaction=ending)
    receipt = await some.attach(media_stage.channel_id, media_stage.network, image(one.id))
    if ending is None:
        assert receipt == SendNotMade("The network said no")
    else:
        assert receipt == SendRefused(NetworkError(131, "The network said no"), ending)
    media_stage.network.on_put = lambda number: f"network-{number}"
    assert await some.attach(media_stage.channel_id, media_stage.network, image(one.id)) == {show(one.id): "network-2"}


@pytest.mark.parametrize(("seconds", "holds"), [(SLOW - 1, True), (SLOW, False)])
async def test_a_file_that_never_gets_through_holds_up_nobody_else(
    media_stage: MediaStage, seconds: float, holds: bool
) -> None:
    def lost(_: int) -> str:
        media_stage.clock.advance(seconds)
        raise CallFailed(NetworkError(0, "No answer"), retry=True)

    media_stage.network.on_put = lost
    one = await media_stage.store(b"one")
    receipt = await attacher(media_stage).attach(media_stage.channel_id, media_stage.network, image(one.id))
    assert receipt == (
        SendNotMade("No answer") if holds else SendRefused(NetworkError(0, "No answer"), ErrorReaction.RETRY)
    )


async def test_a_file_that_is_gone_ends_the_message(media_stage: MediaStage) -> None:
    one, some = await media_stage.store(b"one"), attacher(media_stage)
    (media_stage.folder / one.key).unlink()
    for id_ in (one.id, ONE):
        receipt = await some.attach(media_stage.channel_id, media_stage.network, image(id_))
        assert isinstance(receipt, SendRefused)
        assert receipt.reaction is ErrorReaction.FINAL
        assert receipt.error.title == f"The file {show(id_)} is gone"
        assert "Upload it again" in (receipt.error.details or "")


async def test_a_message_waits_as_long_as_the_storage_is_unavailable(media_stage: MediaStage) -> None:
    one = await media_stage.store(b"one")
    media_stage.objects = ObjectStorage(from_url("http://127.0.0.1:1/", retry_config={"max_retries": 0}))
    receipt = await attacher(media_stage).attach(media_stage.channel_id, media_stage.network, image(one.id))
    assert isinstance(receipt, SendRefused)
    assert receipt.reaction is ErrorReaction.HOLD_RECIPIENT, "there is no last attempt"


async def test_a_strangers_file_is_gone(media_stage: MediaStage, db: Database, tmp_path: Path) -> None:
    stranger = await make_media_stage(db, tmp_path)
    theirs = await stranger.store(b"theirs")
    receipt = await attacher(media_stage).attach(media_stage.channel_id, media_stage.network, image(theirs.id))
    assert isinstance(receipt, SendRefused)
    assert receipt.reaction is ErrorReaction.FINAL
    assert media_stage.network.put == []


async def test_a_file_that_is_still_fetched_is_waited_for(media_stage: MediaStage) -> None:
    waiting, some = await media_stage.expect(b"later"), attacher(media_stage)
    receipt = await some.attach(media_stage.channel_id, media_stage.network, image(waiting.id))
    assert isinstance(receipt, SendRefused)
    assert receipt.reaction is ErrorReaction.RETRY
    await media_stage.write("UPDATE media SET state = 'failed', error = 'because' WHERE channel_id = $1")
    receipt = await some.attach(media_stage.channel_id, media_stage.network, image(waiting.id))
    assert isinstance(receipt, SendRefused)
    assert (receipt.reaction, receipt.error.details) == (ErrorReaction.FINAL, "because")


# -- links ------------------------------------------------------------------------------------------------------------


async def test_a_link_is_the_networks_business_where_it_can(media_stage: MediaStage) -> None:
    links = Links()
    assert (
        await attacher(media_stage, links).attach(
            media_stage.channel_id, media_stage.network, content(media={"link": LINK})
        )
        == {}
    )
    assert links.fetched == []


async def test_a_link_is_fetched_where_the_network_cannot(media_stage: MediaStage) -> None:
    links = Links()
    some = attacher(media_stage, links)
    linked = content(media={"link": LINK})
    assert await some.attach(media_stage.channel_id, media_stage.network, linked, links=False) == {LINK: "network-1"}
    assert (links.fetched, media_stage.network.put) == ([(LINK, 1000)], [(b"linked", "image/png", None)])
    assert media_stage.bytes_kept() == {}


@pytest.mark.parametrize(("retry", "ending"), [(True, ErrorReaction.RETRY), (False, ErrorReaction.FINAL)])
async def test_a_link_that_gives_nothing_is_a_receipt(
    media_stage: MediaStage, retry: bool, ending: ErrorReaction
) -> None:
    links = Links()
    links.behind[LINK] = FetchFailure("It answered 404.", retry)
    linked = content(media={"link": LINK})
    receipt = await attacher(media_stage, links).attach(
        media_stage.channel_id, media_stage.network, linked, links=False
    )
    assert isinstance(receipt, SendRefused)
    assert (receipt.reaction, receipt.error.details) == (ending, "It answered 404.")


@pytest.mark.parametrize(
    ("type_", "mime_type", "fits"),
    [
        ("image", "image/png", True),
        ("image", "text/html", False),
        ("image", "video/mp4", False),
        ("sticker", "image/webp", True),
        ("video", "image/png", False),
        ("audio", "audio/ogg", True),
        ("document", "text/html", True),
        ("image", "application/octet-stream", True),  # the server does not know
    ],
)
async def test_a_link_to_something_else_ends_the_message(
    media_stage: MediaStage, type_: str, mime_type: str, fits: bool
) -> None:
    links = Links()
    links.behind[LINK] = FetchedFile(b"linked", mime_type)
    some, linked = attacher(media_stage, links), content(media={"link": LINK})
    receipt = await some.attach(media_stage.channel_id, media_stage.network, linked, links=False, type_=type_)
    if fits:
        assert receipt == {LINK: "network-1"}
    else:
        assert isinstance(receipt, SendRefused)
        assert receipt.reaction is ErrorReaction.FINAL
        assert receipt.error.details == f"The link gave a file of type {mime_type}, which cannot be sent as {type_}."


async def test_messages_with_the_same_dead_link_try_it_together(media_stage: MediaStage) -> None:
    opened, tried = asyncio.Event(), 0

    async def hanging(_url: str, _most: int, _channel_id: UUID) -> FetchFailure:
        nonlocal tried
        tried += 1
        await opened.wait()
        return FetchFailure("It hangs.", retry=True)

    some = AttachmentUploader(
        media_stage.db, media_stage.objects, media_stage.clock, hanging, most=1000, in_flight=8, link_seconds=7
    )
    linked = content(media={"link": LINK})
    calls = [
        asyncio.create_task(some.attach(media_stage.channel_id, media_stage.network, linked, links=False))
        for _ in range(20)
    ]
    while not tried:
        await asyncio.sleep(0.005)
    opened.set()
    receipts = await asyncio.gather(*calls)
    assert tried == 1
    assert all(isinstance(one, SendRefused) and one.error.details == "It hangs." for one in receipts)
    assert all(isinstance(one, SendRefused) and one.within == 7 for one in receipts)
    await some.attach(media_stage.channel_id, media_stage.network, linked, links=False)
    assert tried == 2, "and the next one tries it again"


async def test_one_that_gives_up_does_not_leave_the_others_waiting(media_stage: MediaStage) -> None:
    opened, tried = asyncio.Event(), 0

    async def hanging(_url: str, _most: int, _channel_id: UUID) -> FetchedFile:
        nonlocal tried
        tried += 1
        await opened.wait()
        return FetchedFile(b"linked", "image/png")

    some = AttachmentUploader(media_stage.db, media_stage.objects, media_stage.clock, hanging, most=1000, in_flight=8)
    linked = content(media={"link": LINK})
    first = asyncio.create_task(some.attach(media_stage.channel_id, media_stage.network, linked, links=False))
    while not tried:
        await asyncio.sleep(0.005)
    second = asyncio.create_task(some.attach(media_stage.channel_id, media_stage.network, linked, links=False))
    await asyncio.sleep(0)
    first.cancel()
    opened.set()
    assert await second == {LINK: "network-1"}


async def test_links_that_hang_leave_room_for_files(media_stage: MediaStage) -> None:
    tried = 0

    async def hanging(_url: str, _most: int, _channel_id: UUID) -> FetchFailure:
        nonlocal tried
        tried += 1
        await asyncio.Event().wait()
        raise AssertionError

    some = AttachmentUploader(
        media_stage.db, media_stage.objects, media_stage.clock, hanging, most=1000, in_flight=8
    )  # two for a channel
    calls: list[asyncio.Task[dict[str, str] | Receipt]] = []
    for i in range(10):
        linked = content(media={"link": f"{LINK}?{i}"})
        calls.append(asyncio.create_task(some.attach(media_stage.channel_id, media_stage.network, linked, links=False)))
    while not tried:
        await asyncio.sleep(0.005)
    one = await media_stage.store(b"one")
    assert await some.attach(media_stage.channel_id, media_stage.network, image(one.id)) == {show(one.id): "network-1"}
    assert tried == 1
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def test_the_networks_no_to_a_linked_file_is_a_receipt(media_stage: MediaStage) -> None:
    media_stage.network.on_put = failing(retry=False)
    linked = content(media={"link": LINK})
    receipt = await attacher(media_stage).attach(media_stage.channel_id, media_stage.network, linked, links=False)
    assert receipt == SendRefused(NetworkError(131, "The network said no"), ErrorReaction.FINAL)
