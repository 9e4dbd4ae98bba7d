"""Sending messages of any type to a number as a person."""

from typing import Any

from litestar import post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from gatepost_sandbox.control.numbers import find_number
from gatepost_sandbox.control.problems import ControlError
from gatepost_sandbox.control.recording import changes
from gatepost_sandbox.incoming import Incoming, deliver_incoming, read_incoming
from gatepost_sandbox.world import World


def read(body: dict[str, Any]) -> Incoming:
    """Return the message to send, or fail with 400."""
    try:
        return read_incoming(body)
    except ValueError as error:
        raise ControlError(400, str(error)) from error


@post("/control/numbers/{phone_number_id:str}/incoming", status_code=200)
@changes
async def send_incoming(
    world: NamedDependency[World], phone_number_id: FromPath[str], data: JSONBody[dict[str, Any]]
) -> dict[str, str]:
    """Send a number something as a person: {"from", "type", "<type>": {…}, "reply_to"?, "context"?, "referral"? …}."""
    number = find_number(world.network, phone_number_id)
    return {"wamid": deliver_incoming(world.network, number, read(data))}


ROUTES = (send_incoming,)
