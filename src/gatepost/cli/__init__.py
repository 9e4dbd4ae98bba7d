"""The command line: `gatepost`. Nothing heavy is imported before a command needs it."""

import os
import sys


def main() -> None:
    """Run the command line."""
    _open_standard_files()
    _save_memory()
    from gatepost.cli.root import app

    app(prog_name="gatepost")


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
