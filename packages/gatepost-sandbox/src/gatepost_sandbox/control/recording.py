"""Control requests that change the network are recorded, so that a restart can replay them."""

import inspect
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar, get_type_hints

import msgspec

from gatepost_sandbox.watch import What
from gatepost_sandbox.world import World

Handler = TypeVar("Handler", bound=Callable[..., Any])
_handlers: dict[str, Callable[..., Any]] = {}

# What the feeds report when a handler of a module has changed something.
_REPORTED: dict[str, What] = {
    "people": "people",
    "person_state": "people",
    "numbers": "numbers",
    "number_status": "numbers",
    "phones": "phones",
    "faults": "faults",
    "templates": "templates",
}
_REPORTED_BY_NAME: dict[str, What | None] = {"numbers.change_settings": "settings", "templates.list_templates": None}


def changes(handler: Handler) -> Handler:
    """Record a request with its arguments, then run its handler."""

    def record(world: World, arguments: dict[str, Any]) -> None:
        world.network.clock.begin()
        _record(handler, world, arguments)

    if inspect.iscoroutinefunction(handler):

        @wraps(handler)
        async def run_async(world: World, **arguments: Any) -> Any:
            record(world, arguments)
            answer = await handler(world, **arguments)
            _notify(handler, world)
            return answer

        return _keep(handler, run_async)

    @wraps(handler)
    def run(world: World, **arguments: Any) -> Any:
        record(world, arguments)
        answer = handler(world, **arguments)
        _notify(handler, world)
        return answer

    return _keep(handler, run)


def changes_last(handler: Handler) -> Handler:
    """Run a handler that waits for another program before it changes the network; then record it."""

    @wraps(handler)
    async def run(world: World, **arguments: Any) -> Any:
        answer = await handler(world, **arguments)
        _record(handler, world, arguments)
        _notify(handler, world)
        return answer

    return _keep(handler, run)


def replay(world: World, name: str, arguments: dict[str, Any]) -> Coroutine[Any, Any, Any] | None:
    """Run a recorded request again."""
    handler = _handlers[name]
    hints = get_type_hints(handler)
    read = {key: msgspec.convert(value, hints[key]) for key, value in arguments.items()}
    answer = handler(world, **read)
    return answer if inspect.iscoroutine(answer) else None


def _keep(handler: Handler, wrapped: Callable[..., Any]) -> Handler:
    _handlers[_name(handler)] = handler
    return wrapped  # type: ignore[return-value]


def _record(handler: Callable[..., Any], world: World, arguments: dict[str, Any]) -> None:
    network = world.network
    network.clock.record("control", _name(handler), arguments, network.media.root)


def _notify(handler: Callable[..., Any], world: World) -> None:
    name = _name(handler)
    what = _REPORTED_BY_NAME.get(name, _REPORTED.get(name.partition(".")[0]))
    if what is not None:
        world.network.watch.changed(what)


def _name(handler: Callable[..., Any]) -> str:
    return f"{handler.__module__.rpartition('.')[2]}.{handler.__name__}"
