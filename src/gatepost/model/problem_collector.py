"""Collects the problems of all fields of a request into one error."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from gatepost.model.errors import FieldProblem, Invalid

T = TypeVar("T")
PROBLEMS_MAX = 50  # the maximum number of problems in one error
_IN_MESSAGE = 3  # of them in its sentence


class ProblemCollector:
    """Runs checks and collects their errors."""

    def __init__(self) -> None:
        self._found: list[Invalid] = []

    def read(self, check: Callable[..., T], *arguments: Any, **options: Any) -> T | None:
        """Return the result of a check; None if it fails."""
        try:
            return check(*arguments, **options)
        except Invalid as error:
            self._found.append(error)
            return None

    def read_each(self, path: str, rows: Iterable[Any], check: Callable[..., T], **options: Any) -> list[T]:
        """Check every item of a list, up to the largest number of problems in one error."""
        read = []
        for i, row in enumerate(rows):
            if len(self._found) >= PROBLEMS_MAX:
                break
            value = self.read(check, f"{path}[{i}]", row, **options)
            if value is not None:
                read.append(value)
        return read

    def check(self) -> None:
        """Raise one error with all problems so far, if there are any."""
        if self._found:
            raise joined(self._found)

    def error(self) -> Invalid | None:
        """Return the error with all problems so far, or None."""
        return joined(self._found) if self._found else None


def read_each(path: str, rows: Iterable[Any], check: Callable[..., T], **options: Any) -> list[T]:
    """Return all items of a list, or raise one error that names every invalid one."""
    problems = ProblemCollector()
    read = problems.read_each(path, rows, check, **options)
    problems.check()
    return read


def joined(errors: Sequence[Invalid]) -> Invalid:
    """Merge several errors into one, with the code of the first and the fields of all."""
    if len(errors) == 1:
        return errors[0]
    fields = tuple(dict.fromkeys(field for error in errors for field in error.fields))[:PROBLEMS_MAX]
    return Invalid(sentence(fields), errors[0].code, fields=fields)


def invalid_fields(fields: Sequence[FieldProblem]) -> Invalid:
    """Return the error for one or more problems."""
    return Invalid(sentence(fields), fields=tuple(fields[:PROBLEMS_MAX]))


def sentence(fields: Sequence[FieldProblem]) -> str:
    """Return the first few problems as text, and how many more there are."""
    named = "; ".join(f"{one.field}: {one.message}" for one in fields[:_IN_MESSAGE])
    more = len(fields) - _IN_MESSAGE
    return f"{named}; and {more} more, see error.fields" if more > 0 else named
