"""Loads neonize: the native library, or only its types."""

import os
import platform
import sys
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

_MACHINES = {"aarch64": "arm64", "x86_64": "amd64"}
_ENDINGS = {"windows": "dll", "darwin": "dylib"}


class CouldNotLoad(Exception):
    """The library cannot be used on this machine. The text is the reason."""


def load() -> Any:
    """Import the library without letting it download anything; return its module of native functions."""
    folder = _folder()
    _refuse_downloads()
    # Without this the library marks every private message as written by a bot.
    os.environ["NEONIZE_BOT_TAG"] = "off"
    if not (folder / native_name()).exists():
        raise CouldNotLoad(f"The package neonize has no native library for this machine ({native_name()}).")
    try:
        return import_module("neonize._binder")
    except ImportError as error:
        raise CouldNotLoad(_sentence(error)) from error
    except Exception as error:
        raise CouldNotLoad(f"The native library of neonize did not load: {error}") from error


def load_types() -> None:
    """Make the library's protobuf types importable without its native part, for an engine that needs only the types."""
    bare = ModuleType("neonize")
    bare.__path__ = [str(_folder())]
    sys.modules["neonize"] = bare


def native_name() -> str:
    """Return the file name of the native library for this machine."""
    system, machine = platform.system().lower(), platform.machine().lower()
    return f"neonize-{system}-{_MACHINES.get(machine, machine)}.{_ENDINGS.get(system, 'so')}"


def _folder() -> Path:
    spec = util.find_spec("neonize")
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise CouldNotLoad("The package neonize is not installed.")
    return Path(places[0])


def _sentence(error: ImportError) -> str:
    if "libmagic" in str(error) or error.name == "magic":
        return "The system library libmagic is missing. Install it (Debian and Ubuntu: libmagic1), then connect again."
    return f"The package neonize is not complete: {error}"


def _refuse_downloads() -> None:
    """Prevent the library from downloading its native part, as it does if it is missing or has another version."""
    try:
        requests: Any = import_module("requests")
    except ImportError as error:
        raise CouldNotLoad(f"The package neonize is not complete: {error}") from error

    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError("the native library is not of the version that the package expects")

    requests.get = refuse
