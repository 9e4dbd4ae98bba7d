"""A network of phones on loopback that the real library believes, and the real child linked to it."""

import asyncio
import json
import os
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from gatepost.networks.qr.phone.by_baileys import install
from gatepost.networks.qr.phone.protos import e2e
from tests.patience import PATIENCE

HERE = Path(__file__).parent / "phone_network"
Fields = dict[str, Any]
ADA = {"phone": "15550002222", "lid": "700002", "name": "Ada"}
_shops = count(1)


def new_shop() -> Fields:
    """An account of the network that no other test knows."""
    number = next(_shops)
    return {"phone": f"1555000{number:04d}", "lid": f"90{number:04d}", "name": "Shop", "business": True}


class Network:
    """The network's process: tells what it saw, does what it is told."""

    def __init__(self, process: asyncio.subprocess.Process, ready: Fields) -> None:
        self.ready = ready
        self.seen: list[Fields] = []
        self._process = process
        self._answers: dict[int, asyncio.Future[Fields]] = {}
        self._numbers = count(1)
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def do(self, what: str, **fields: Any) -> Fields:
        """Gives a command, and waits until it is done."""
        number = next(self._numbers)
        answer: asyncio.Future[Fields] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"n": number, "do": what, **fields}).encode() + b"\n")
        async with asyncio.timeout(PATIENCE):
            return await answer

    async def say(self, id_: str, said: Any, **fields: Any) -> None:
        """Lets somebody write to the shop."""
        message = b64encode(said.SerializeToString()).decode()
        await self.do("say", **{"from": ADA["phone"], "id": id_, "message": message, **fields})

    async def saw(self, what: str, fits: Callable[[Fields], bool] = lambda _: True) -> Fields:
        """The first thing of a kind that the network saw; waits for it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for one in self.seen:
                    if one["saw"] == what and fits(one):
                        return one
                self._news.clear()
                await self._news.wait()

    async def messages(self) -> list[tuple[str, Any]]:
        """The messages that reached the network: id and what they said."""
        await self.do("state")  # its answer comes after the reports of everything that the network has acknowledged
        return [
            (one["id"], e2e.Message.FromString(b64decode(one["message"])))
            for one in self.seen
            if one["saw"] == "message"
        ]

    async def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout
        while line := await self._process.stdout.readline():
            frame = json.loads(line)
            if "saw" in frame:
                self.seen.append(frame)
                self._news.set()
            elif "done" in frame:
                self._answers.pop(frame["done"]).set_result(frame)
            elif "failed" in frame:
                self._answers.pop(frame["failed"]).set_exception(AssertionError(frame["why"]))


def library() -> str:
    """The folder of the library that the engine runs."""
    return str(install.install() / "node_modules" / "@whiskeysockets" / "baileys")


async def start_network(**env: str) -> Network:
    process = await asyncio.create_subprocess_exec(
        install.node(),
        str(HERE / "network.mjs"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "BAILEYS": library(), **env},
        limit=1 << 24,
    )
    assert process.stdout
    return Network(process, json.loads(await process.stdout.readline())["ready"])


def child_at(ready: Fields, script: Path, **env: str) -> tuple[str, str]:
    """The program of a child whose library dials the network above instead of the real one."""
    node, bridge = install.program()
    given = {"BAILEYS": library(), "BRIDGE": bridge, "NETWORK": json.dumps(ready), **env}
    words = ["env", *(f"{name}={value}" for name, value in given.items()), node, str(HERE / "at_network.mjs")]
    script.write_text(
        f"from gatepost.networks.qr.phone import __main__ as child\nchild.program = lambda: {words!r}\nchild.main()\n"
    )
    return sys.executable, str(script)
