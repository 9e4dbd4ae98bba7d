"""A link that gives nothing ends its message after a short time, with the reason, and holds up nobody else."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.model.file import FetchedFile, FetchFailure
from gatepost.model.send_request import SendRequest
from gatepost.networks.base import Network, Receipt
from gatepost.outbound.attachments import AttachmentUploader, link_failed_at
from gatepost.store.media.objects import ObjectStorage
from tests.outbound.stage import FAST, NOW, RULES, Stage

PERSON, OTHER = "5511999998888", "5511999997777"
LINK = "https://files.example/cake.jpg"
PATIENT = msgspec.structs.replace(RULES, attempts=10)
UNRESOLVED = FetchFailure("The host name files.example could not be resolved.", retry=True)


class Links:
    """Attaches links as on a QR channel, with what the test puts behind them."""

    def __init__(self, stage: Stage, folder: Path, *, link_seconds: float = 30.0) -> None:
        self.behind: FetchedFile | FetchFailure = UNRESOLVED
        self.tries: list[float] = []
        self._stage = stage
        self._attacher = AttachmentUploader(
            stage.db,
            ObjectStorage.open("", folder),
            stage.clock,
            self._fetch,
            most=1000,
            in_flight=8,
            link_seconds=link_seconds,
        )
        stage.attach = self._attach

    async def _fetch(self, _url: str, _most: int, _channel_id: UUID) -> FetchedFile | FetchFailure:
        self.tries.append(round((self._stage.clock.now() - NOW).total_seconds(), 1))
        return self.behind

    async def _attach(self, network: Network, content: str, type_: str) -> dict[str, str] | Receipt:
        return await self._attacher.attach(self._stage.channel_id, network, content, links=False, type_=type_)


async def send_picture(stage: Stage, phone: str) -> UUID:
    request = SendRequest(phone=phone, type="image", media={"link": LINK})
    accepted = await stage.acceptor.accept(stage.caller, request)
    stage.wake()
    return UUID(hex=msgspec.json.decode(accepted.answer)["data"]["key"]["id"])


async def error_of(stage: Stage, message_id: UUID) -> Any:
    return msgspec.json.decode((await stage.message(message_id)).error or "null")


async def test_a_link_that_does_not_resolve_fails_its_message_soon(stage: Stage, tmp_path: Path) -> None:
    links = Links(stage, tmp_path)
    await stage.take_over(FAST, PATIENT)
    picture = await send_picture(stage, PERSON)
    await stage.accept(PERSON, "behind it")
    await stage.accept(OTHER, "somebody else")
    await stage.drive(0)
    assert [call.message.phone for call in stage.network.calls] == [OTHER], "nobody else waits"
    await stage.drive(31)
    assert await stage.status(picture) == "FAILED"
    assert await error_of(stage, picture) == {
        "code": "link_failed",
        "title": "The file behind the link could not be fetched",
        "details": "The host name files.example could not be resolved.",
    }
    assert len(links.tries) >= 3
    assert links.tries[-1] < 30
    assert [call.message.phone for call in stage.network.calls] == [OTHER, PERSON], "and what is behind it goes on"
    assert stage.network.times[1] <= links.tries[-1] + 0.5


async def test_a_link_that_comes_back_in_time_is_sent(stage: Stage, tmp_path: Path) -> None:
    links = Links(stage, tmp_path)
    await stage.take_over(FAST, PATIENT)
    picture = await send_picture(stage, PERSON)
    await stage.drive(5)
    links.behind = FetchedFile(b"cake", "image/jpeg")
    await stage.drive(20)
    assert await stage.status(picture) == "SENT"


@pytest.mark.parametrize("seconds", [0.5, 300.0])
async def test_the_time_is_a_setting(stage: Stage, tmp_path: Path, seconds: float) -> None:
    links = Links(stage, tmp_path, link_seconds=seconds)
    await stage.take_over(FAST, PATIENT)
    picture = await send_picture(stage, PERSON)
    await stage.drive(600, stride=1)
    assert await stage.status(picture) == "FAILED"
    assert len(links.tries) in ((1,) if seconds < 1 else (7, 8, 9))
    assert links.tries[-1] < seconds + 1  # the clock moves by a second: the last try may be that late


@pytest.mark.parametrize(
    "behind",
    [FetchFailure("The link answered 404 instead of 200.", retry=False), FetchedFile(b"<html>", "text/html")],
)
async def test_what_does_not_pass_by_itself_fails_at_once(
    stage: Stage, tmp_path: Path, behind: FetchedFile | FetchFailure
) -> None:
    links = Links(stage, tmp_path)
    links.behind = behind
    await stage.take_over(FAST, PATIENT)
    picture = await send_picture(stage, PERSON)
    await stage.drive(0)
    assert (await stage.status(picture), len(links.tries)) == ("FAILED", 1)
    assert (await error_of(stage, picture))["code"] == "link_failed"


async def test_the_time_goes_on_with_the_next_owner(stage: Stage, tmp_path: Path) -> None:
    links = Links(stage, tmp_path, link_seconds=100)
    await stage.take_over(FAST, PATIENT)
    picture = await send_picture(stage, PERSON)
    await stage.drive(40, stride=1)
    assert await stage.status(picture) == "PENDING"
    await stage.take_over(FAST, PATIENT)
    await stage.drive(300, stride=1)
    assert await stage.status(picture) == "FAILED"
    assert 40 < links.tries[-1] < 100


def test_when_a_link_first_failed() -> None:
    def entry(code: object, seconds: int) -> str:
        error = None if code is None else {"code": code, "title": "x", "details": None}
        at = NOW + timedelta(seconds=seconds)
        return msgspec.json.encode({"attempt": 1, "at": at, "error": error}).decode()

    assert link_failed_at(None) is None
    assert link_failed_at([entry(131016, 0), entry(None, 1)]) is None
    assert link_failed_at([entry(131016, 0), entry("link_failed", 1), entry("link_failed", 2)]) == NOW + timedelta(
        seconds=1
    )
