"""The command line: `gatepost`. Nothing heavy is imported before a command needs it."""

import os
import sys
from importlib import import_module

_LONG = ("serve", "up")  # commands that run for long: functions of the same name in modules of the same name


def main() -> None:
    """Run the command line."""
    _open_standard_files()
    _save_memory()
    if sys.argv[1:2] and sys.argv[1] in _LONG and _run_long(sys.argv[1], sys.argv[2:]):
        return
    from gatepost.cli.root import app

    app(prog_name="gatepost")


def _run_long(name: str, words: list[str]) -> bool:
    """Run a command without the parser of the others. Return False if it has to read the options."""
    from gatepost.cli.plain_options import read_plain

    try:
        run = getattr(import_module(f"gatepost.cli.{name}"), name)
        arguments = read_plain(run, words)
        if arguments is None:
            return False
        run(**arguments)
    except KeyboardInterrupt:
        print("Aborted!", file=sys.stderr)  # as the other commands do
        raise SystemExit(1) from None
    return True


def _open_standard_files() -> None:
    """Open those of stdin, stdout and stderr that are closed; otherwise, the next socket would get their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
            os.set_inheritable(opened, True)
            setattr(sys, name, os.fdopen(opened, mode))


def _save_memory() -> None:
    """Let the HTTP client take memory as it needs it. Its allocator otherwise begins with huge pages, 4 MiB and more.

    The allocator reads the variable when the client is imported. All processes of a gateway inherit it.
    """
    os.environ.setdefault("MIMALLOC_ARENA_EAGER_COMMIT", "0")
