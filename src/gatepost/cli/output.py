"""Output of commands: JSON for programs, tables for people, one line on stderr for an error."""

import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

_CODES = frozenset({"code", "status", "http_status", "port", "pid", "version", "sequence", "seed"})  # not quantities


# A field of the data, such as "id" or "event.type"; or a heading, and a function of the record.
Column = str | tuple[str, Callable[[dict[str, Any]], Any]]


class CommandResult(msgspec.Struct, frozen=True):
    """The result of a command: an object or a list of objects of the contract, and how people see it.

    People see the `columns` of a list, and all fields of an object that has no columns. If it `failed`, the exit code
    is 1.
    """

    data: Any
    columns: tuple[Column, ...] = ()
    note: str = ""
    empty: str = "There are none yet."
    failed: bool = False


class OutputLine(msgspec.Struct, frozen=True):
    """One line of progress; on a terminal a passing line is replaced by the next."""

    data: Any
    text: str
    passing: bool = False


class LinePrinter:
    """Prints lines of progress, as JSON or text."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._passing = 0

    def print(self, line: OutputLine) -> None:
        """Print a line, in place of the last one if that was passing and this is a terminal."""
        with _quiet_on_closed_pipe():
            if self._as_json:
                print(msgspec.json.encode(line.data).decode(), flush=True)
                return
            if self._passing and sys.stdout.isatty():
                print(f"\x1b[{self._passing}A\x1b[J", end="")
            print(line.text, flush=True)
        self._passing = line.text.count("\n") + 1 if line.passing else 0


def print_result(result: CommandResult, *, as_json: bool) -> None:
    """Print a result on stdout, as JSON or text."""
    with _quiet_on_closed_pipe():
        print(to_json(result.data) if as_json else _to_text(result))
    if result.failed:
        raise SystemExit(1)


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
    """Ask on stderr, since stdout is for results; raise Conflict unless the answer is yes."""
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
    if isinstance(sys.stdout, io.TextIOWrapper):  # a secret that is shown once must not be lost for want of a dash
        sys.stdout.reconfigure(errors="replace")
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
        return _plain("database_unavailable", f"The database reported an error: {error}")
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


def _to_text(result: CommandResult) -> str:
    data = msgspec.json.decode(msgspec.json.encode(result.data))
    if isinstance(data, list):
        text = _table([_cells(record, result.columns) for record in data]) or result.empty
    else:
        cells = _cells(data, result.columns or tuple(data))
        width = max(len(heading) for heading in cells)
        text = "\n".join(f"{heading:<{width}}  {value}" for heading, value in cells.items())
    return f"{text}\n\n{result.note}" if result.note else text


def _cells(record: dict[str, Any], columns: Sequence[Column]) -> dict[str, str]:
    """Return the cells of a record by their headings."""
    cells = {}
    for column in columns:
        if isinstance(column, tuple):
            heading, value_of = column
            cells[heading] = cell(value_of(record), heading)
        else:
            heading = column.replace("_", " ").replace(".", " ")
            cells[heading] = cell(_field(record, column), column.rpartition(".")[2])
    return cells


def _field(record: Any, path: str) -> Any:
    for name in path.split("."):
        record = record.get(name) if record else None
    return record


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return ""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in rows[0]:
        # An id that is cut off is of no use.
        table.add_column(heading, no_wrap=heading == "id", overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row.values()))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 400
    with console.capture() as captured:
        console.print(table)
    return captured.get().rstrip("\n")


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
