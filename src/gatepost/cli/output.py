"""Output of commands: JSON for programs, tables for people, one line on stderr for an error."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

_CODES = frozenset({"code", "status", "http_status", "port", "pid", "version", "sequence", "seed"})  # not quantities


class CommandResult(msgspec.Struct, frozen=True):
    """The result of a command: a record or a list of records, and a note for people."""

    data: Any
    columns: tuple[str, ...] = ()
    note: str = ""
    empty: str = "There are none yet."
    rows: Sequence[Mapping[str, Any]] | None = None  # the list as people see it, where it is shorter than the data


class ProgressLine(msgspec.Struct, frozen=True):
    """One line of progress; on a terminal a passing line is replaced by the next."""

    data: dict[str, Any]
    text: str
    passing: bool = False


class LinePrinter:
    """Prints lines of progress, as JSON or text."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._passing = 0

    def print(self, line: ProgressLine) -> None:
        """Print a line, in place of the last one if that was passing and this is a terminal."""
        with _quiet_on_closed_pipe():
            if self._as_json:
                print(msgspec.json.encode(line.data).decode(), flush=True)
                return
            if self._passing and sys.stdout.isatty():
                print(f"\x1b[{self._passing}A\x1b[J", end="")
            print(line.text, flush=True)
        self._passing = line.text.count("\n") + 1 if line.passing else 0


def print_result(answer: CommandResult, *, as_json: bool) -> None:
    """Print a result on stdout, as JSON or text."""
    with _quiet_on_closed_pipe():
        if as_json:
            print(to_json(answer.data))
        elif isinstance(answer.data, list):
            _print_table(answer.data if answer.rows is None else answer.rows, answer)
        else:
            _print_record(answer.data)
        if answer.note and not as_json:
            print(f"\n{answer.note}")


@contextmanager
def _quiet_on_closed_pipe() -> Iterator[None]:
    """Exit quietly when the reader closes the pipe, as `| head` and `| grep -q` do."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes stdout again when it exits, which would fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None


def confirm(question: str) -> None:
    """Ask on stderr, since stdout is for results; anything but yes raises Conflict."""
    from gatepost.model.errors import Conflict

    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Conflict("Nothing was changed. Answer y, or use --yes.")


def to_json(data: Any) -> str:
    """Return indented JSON, with keys in their order."""
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode()


@contextmanager
def failing(*, as_json: bool = False, logs: bool = True) -> Iterator[None]:
    """Turn expected errors into one line on stderr and exit code 1; bugs keep their traceback.

    With `logs=False` logging is not set up, which takes a quarter of a short command's time.
    """
    if logs:
        _log_to_stderr()
    try:
        yield
    except Exception as error:
        explained = _explain(error)
        if explained is None:
            raise
        print(to_json({"error": explained}) if as_json else f"Error: {explained['message']}", file=sys.stderr)
        raise SystemExit(1) from None


def _explain(error: Exception) -> dict[str, Any] | None:
    """Return the error as a record, or None for a bug."""
    from gatepost.model.errors import GatepostError
    from gatepost.settings import BadSettings
    from gatepost.store.embedded import DataFolderInUse, EmbeddedPostgresError
    from gatepost.store.migrate import MigrationError
    from gatepost.store.pool import DRIVER_ERRORS

    if isinstance(error, GatepostError):
        return {"code": error.code, "message": error.message, "fields": list(error.fields)}
    if isinstance(error, BadSettings):
        return _plain("bad_settings", str(error))
    if isinstance(error, DataFolderInUse | EmbeddedPostgresError | MigrationError):
        return _plain("database_unavailable", str(error))
    if isinstance(error, DRIVER_ERRORS):
        return _plain("database_unavailable", f"The database refused: {error}")
    if isinstance(error, OSError):
        return _plain("system_error", str(error) or type(error).__name__)
    return None


def _plain(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": " ".join(message.split()), "fields": []}


def _log_to_stderr() -> None:
    """Log to stderr, since stdout is for results; a server sets up its own log."""
    import logging

    import structlog

    from gatepost.logs import console

    structlog.configure(
        processors=[*structlog.get_config()["processors"][:-1], console()],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )


def _print_record(record: Mapping[str, Any]) -> None:
    width = max(len(name) for name in record)
    for name, value in record.items():
        print(f"{name.replace('_', ' '):<{width}}  {cell(value, name)}")


def _print_table(rows: Sequence[Mapping[str, Any]], answer: CommandResult) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows:
        print(answer.empty)
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in answer.columns:
        # An id that is cut off is of no use.
        table.add_column(name.replace("_", " "), no_wrap=name == "id", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell(row[name], name)) for name in answer.columns))
    console = Console(highlight=False)
    console.print(table) if console.is_terminal else Console(highlight=False, width=400).print(table)


def cell(value: Any, name: str = "") -> str:
    """Format a value for a terminal, without control characters."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {cell(one, key)}" for key, one in value.items()) or "–"
    if isinstance(value, list | tuple):
        return ", ".join(cell(one, name) for one in value) or "–"
    text = f"{value:,}" if isinstance(value, int) and name not in _CODES else str(value)
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
