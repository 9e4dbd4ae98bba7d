"""Restoring a network from its folder: the newest snapshot, then every input since."""

import logging
import time

import msgspec

from gatepost_sandbox.control.problems import ControlError
from gatepost_sandbox.storage.folder import Folder
from gatepost_sandbox.storage.log import Record
from gatepost_sandbox.storage.replay import replay
from gatepost_sandbox.storage.snapshot import State
from gatepost_sandbox.world import World

log = logging.getLogger("gatepost_sandbox")


def restore(world: World, folder: Folder) -> None:
    """Replace the new network by that of the folder, and record every input from now on."""
    state = _load(world, folder)
    if state is not None:
        world.settings = state.settings
        world.put(state.network, state.qr)
        _replay_all(world, folder, state)
    folder.start(lambda: State(world.settings, world.network, world.qr, time.time()))
    world.record_to(folder)


def _load(world: World, folder: Folder) -> State | None:
    try:
        return folder.load(world.callback_client)
    except Exception as error:  # another version, or an incomplete file
        old = folder.set_aside()
        warning = "The sandbox starts with an empty network: its state is of another version (%s). It was moved to %s."
        log.warning(warning, type(error).__name__, old)
        return None


def _replay_all(world: World, folder: Folder, state: State) -> None:
    wall = state.wall
    for record in folder.records():
        _replay_one(world, folder, record)
        wall = record.wall
    for link in list(world.qr.links.values()):
        link.cut()
    world.network.resume(time.time() - wall)


def _replay_one(world: World, folder: Folder, record: Record) -> None:
    try:
        replay(world, record, folder.read_file)
    except (ControlError, msgspec.ValidationError):
        return  # it failed the first time too
    except Exception as error:
        log.error("The sandbox could not replay a recorded %s: %s: %s", record.kind, type(error).__name__, error)
