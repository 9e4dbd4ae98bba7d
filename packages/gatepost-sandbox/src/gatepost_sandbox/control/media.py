"""Stored files, and the stored settings of a number."""

from typing import Any

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromPath

from gatepost_sandbox.control.numbers import find_number
from gatepost_sandbox.world import World


@get("/control/media", sync_to_thread=False)
def list_media(world: NamedDependency[World]) -> list[dict[str, Any]]:
    """List the stored files, without their content."""
    shown = ("id", "mime_type", "size", "sha256", "filename", "phone_number_id", "expires")
    kept = world.network.media.all(world.network.clock.now())
    return [{name: getattr(stored, name) for name in shown} for stored in kept]


@get("/control/numbers/{phone_number_id:str}/file", sync_to_thread=False)
def get_file(world: NamedDependency[World], phone_number_id: FromPath[str]) -> dict[str, Any]:
    """Show the settings of a number: registered, code, pin, override, profile and more."""
    number = find_number(world.network, phone_number_id)
    return {
        **vars(world.network.accounts.numbers[number.id]),
        "callback_url": world.network.accounts.address(number.spec),
    }


ROUTES = (list_media, get_file)
