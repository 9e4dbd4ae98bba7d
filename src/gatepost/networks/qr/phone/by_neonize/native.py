"""One linked device inside the native library: the calls into it, and its calls back.

A connection blocks a thread of its own for its life. What the library calls back with arrives on threads of the
library, which must not wait and must not see an exception.

Three things are done here that the package itself does otherwise: `Stop` returns nothing, but the package frees what it
takes for an answer, at which the process dies; a device that the store does not hold ends the process too; and the
package prints codes and states to the screen.
"""

import asyncio
import ctypes
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any

from gatepost.networks.qr.phone.by_neonize.calls import NeonizePhone
from gatepost.networks.qr.phone.engine import Callbacks
from gatepost.networks.qr.phone.jids import parse_jid
from gatepost.networks.qr.phone.protos import companion
from gatepost.networks.qr.phone.translate_event import TRANSLATED

_BETWEEN_DEVICES = "|\x01|"
_LOG_LEVEL = b"WARN"
_LATE = 1  # codes come one by one through a callback of their own; as an event they would come too late


class Neonize:
    """The loaded library with its store."""

    own_ids = False  # it makes up the id of each message by itself

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

    async def holds(self, device: str) -> bool:
        """Whether the store holds a device."""
        return await asyncio.to_thread(self._holds, device)

    def phone(self, life: str) -> NeonizePhone:
        """The package's own client for a connection that runs: sending, files, receipts."""
        client = self._client(self._store, uuid=life)
        client._stop_finalizer.detach()  # it would stop the session in the way that kills the process
        return NeonizePhone(client, self._words)

    async def run(self, life: str, device: str | None, to: Callbacks) -> str:
        """Connects, and returns when the connection is stopped or fails: with what went wrong, or nothing."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[str] = loop.create_future()

        def block() -> None:
            try:
                failed = self._block(life, device, to)
            except Exception as error:
                failed = str(error)
            with suppress(RuntimeError):  # the loop is gone: nobody waits
                loop.call_soon_threadsafe(settle, failed)

        def settle(failed: str) -> None:
            if not over.done():
                over.set_result(failed)

        threading.Thread(target=block, name=f"link-{life}", daemon=True).start()
        return await over

    async def stop(self, life: str) -> None:
        """Ends a connection; its `run` returns."""
        await asyncio.to_thread(self._stop, life.encode())

    async def stop_all(self) -> None:
        await asyncio.to_thread(self._stop_all)

    def _holds(self, device: str) -> bool:
        rows = self._binder.gocode.GetAllDevices(self._store.encode(), self._log).decode()
        return device in {row.partition(",")[0] for row in rows.split(_BETWEEN_DEVICES)}

    def _block(self, life: str, device: str | None, to: Callbacks) -> str:
        kinds = (self._events.EVENT_TO_INT[kind] for kind in TRANSLATED)
        wanted = bytearray(kind for kind in kinds if kind != _LATE)
        subscribed = (ctypes.c_char * len(wanted)).from_buffer(wanted)
        jid = parse_jid(device).SerializeToString() if device else b""
        props = companion.DeviceProps(os="Gatepost", platformType=companion.DeviceProps.DESKTOP).SerializeToString()
        proxy = self._binder.ProxySettings(self._proxy)._to_c_struct() if self._proxy else None
        # The library calls these as long as the session runs: they are held here until it ends.
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

    def _callbacks(self, to: Callbacks) -> tuple[Any, Any, Any]:
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
    function = library[name]  # a fresh one, without the package's idea of what it returns
    function.argtypes = arguments
    function.restype = None
    return function


def _print_log(data: int, size: int) -> None:
    """Prints what the library logs; the gateway puts it into its own log."""
    entry = import_module("neonize.proto.Neonize_pb2").LogEntry.FromString(ctypes.string_at(data, size))
    sys.stderr.write(f"{entry.Level} {entry.Name}: {entry.Message}\n")
