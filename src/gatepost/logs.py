"""Logging: one line per outcome to standard error, readable on a terminal and as JSON elsewhere."""

import contextlib
import logging
import re
import sys
from functools import partial
from typing import Any, TextIO, cast

import structlog

_CUT_OFF = "ASGI callable returned without completing response."
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class LossyStandardError:
    """Standard error that drops what it cannot write: a full disk or a closed pipe must not fail a request."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()


def console() -> structlog.typing.Processor:
    """Return the renderer for terminals. Tracebacks show no variables: these may hold keys and messages.

    Values may come from others, so no control character in them reaches the terminal.
    """
    render = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    return lambda logger, name, line: render(logger, name, {key: _visible(value) for key, value in line.items()})


def _visible(value: Any) -> Any:
    """Return a text with control characters as escapes. The renderer itself escapes the ends of lines."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", value) if isinstance(value, str) else value


def configure_logs(level: str, format_: str, process: int | None = None) -> None:
    """Configure structlog for this process. One of several processes of a gateway logs its number."""
    for_people = format_ == "console" or (format_ == "auto" and sys.stderr.isatty())
    renderer = console() if for_people else structlog.processors.JSONRenderer()
    processors: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,  # the cell, if there are several
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if process is not None:
        processors.insert(0, partial(_add_number, process))
    if not for_people:
        processors.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, LossyStandardError())),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    if not any(isinstance(one, LibraryLog) for one in root.handlers):
        root.addHandler(LibraryLog())


class LibraryLog(logging.Handler):
    """Passes on what libraries log, such as the HTTP server and asyncio, so that each line has the same format."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record as one of ours, unless the reason was logged before (`api/dispatcher.py`)."""
        message = record.getMessage().strip()
        if message != _CUT_OFF:
            log = structlog.get_logger(record.name)
            log.log(record.levelno, message, logger=record.name, exc_info=record.exc_info)


def _add_number(number: int, _: Any, __: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    line["process"] = number
    return line
