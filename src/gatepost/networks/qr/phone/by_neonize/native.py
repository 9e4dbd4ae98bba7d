"""The engine over the native library: the calls into it, and its callbacks.

A connection blocks its own thread until it ends. Callbacks run on threads of the library: they must not block, and
must not raise.

Four things differ from the package's own client. `Stop` returns nothing, but the package frees a supposed result,
which crashes the process. A device that is not in the store also ends the process, so it is looked up first. The
result of `DecryptPollVote` is not converted, so that no vote could be read. And the package prints codes and states to
the terminal.
"""

import asyncio
import ctypes
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any

from gatepost.networks.qr.phone.by_neonize.calls import NeonizePhone
from gatepost.networks.qr.phone.by_neonize.devices import is_stored
from gatepost.networks.qr.phone.engine import EngineListener
from gatepost.networks.qr.phone.jids import parse_jid
from gatepost.networks.qr.phone.protos import companion
from gatepost.networks.qr.phone.translate_event import TRANSLATED

_LOG_LEVEL = b"WARN"
_LATE = 1  # the event type of codes; a separate callback delivers each code earlier than the event


class Neonize:
    """The loaded library and the address of its store."""

    own_ids = False  # the library chooses the id of each message

    def __init__(self, binder: Any, store: str, proxy: str = "") -> None:
        self._binder = binder
        self._store = store
        self._proxy = proxy
        self._log = binder.func_callback_bytes2(_print_log)
        self._words = import_module("neonize.utils.enum")
        self._events = import_module("neonize.events")
        self._client = import_module("neonize.client").NewClient
        self._stop = _returning_nothing(binder.gocode, "Stop", [ctypes.c_char_p])
        self._stop_all = _returning_nothing(binder.gocode, "StopAll", [])
        binder.gocode.DecryptPollVote.errcheck = binder.consume_bytes_struct

    async def holds(self, device: str) -> bool:
        """Return whether the store holds a device."""
        return await is_stored(self._store, device)

    def phone(self, life: str) -> NeonizePhone:
        """Return the phone of a connection, over the package's own client."""
        client = self._client(self._store, uuid=life)
        client._stop_finalizer.detach()  # it would call the package's `Stop`, which crashes the process
        return NeonizePhone(client, self._words)

    async def run(self, life: str, device: str | None, to: EngineListener) -> str:
        """Connect, and return when the connection is stopped or fails: the error, or an empty string."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[str] = loop.create_future()

        def block() -> None:
            try:
                failed = self._block(life, device, to)
            except Exception as error:
                failed = str(error)
            with suppress(RuntimeError):  # the loop is closed: nothing waits for the result
                loop.call_soon_threadsafe(settle, failed)

        def settle(failed: str) -> None:
            if not over.done():
                over.set_result(failed)

        threading.Thread(target=block, name=f"link-{life}", daemon=True).start()
        return await over

    async def stop(self, life: str) -> None:
        """End a connection; its `run` returns."""
        await asyncio.to_thread(self._stop, life.encode())

    async def stop_all(self) -> None:
        await asyncio.to_thread(self._stop_all)

    def _block(self, life: str, device: str | None, to: EngineListener) -> str:
        kinds = (self._events.EVENT_TO_INT[kind] for kind in TRANSLATED)
        wanted = bytearray(kind for kind in kinds if kind != _LATE)
        subscribed = (ctypes.c_char * len(wanted)).from_buffer(wanted)
        jid = parse_jid(device).SerializeToString() if device else b""
        props = companion.DeviceProps(os="Gatepost", platformType=companion.DeviceProps.DESKTOP).SerializeToString()
        proxy = self._binder.ProxySettings(self._proxy)._to_c_struct() if self._proxy else None
        # The library calls these until the session ends; the references keep them alive.
        code, login, event = self._callbacks(to)
        failed = self._binder.gocode.Neonize(
            self._store.encode(),
            life.encode(),
            jid,
            len(jid),
            0 if device else 1,
            _LOG_LEVEL,
            code,
            login,
            event,
            self._log,
            subscribed,
            len(wanted),
            props,
            len(props),
            b"",
            0,
            ctypes.byref(proxy) if proxy is not None else None,
        )
        return bytes(failed or b"").decode(errors="replace").replace(self._store, "the store")

    def _callbacks(self, to: EngineListener) -> tuple[Any, Any, Any]:
        def code(_session: int, text: int) -> None:
            to.code(ctypes.string_at(text).decode(errors="replace"))

        def login(_session: int, text: int) -> None:
            to.login(ctypes.string_at(text).decode(errors="replace"))

        def event(_session: Any, data: int, size: int, kind: int) -> None:
            if kind in self._events.INT_TO_EVENT:
                to.event(self._events.INT_TO_EVENT[kind].FromString(ctypes.string_at(data, size)))

        binder = self._binder
        return binder.func_string(code), binder.func_string(login), binder.func_callback_bytes(event)


def _returning_nothing(library: Any, name: str, arguments: list[Any]) -> Any:
    function = library[name]  # a new function object, without the package's wrong result type
    function.argtypes = arguments
    function.restype = None
    return function


def _print_log(data: int, size: int) -> None:
    """Print a log entry of the library; the gateway adds it to its own log."""
    entry = import_module("neonize.proto.Neonize_pb2").LogEntry.FromString(ctypes.string_at(data, size))
    sys.stderr.write(f"{entry.Level} {entry.Name}: {entry.Message}\n")
