"""All problems of a request in one error: each field is checked, and the refusals are raised together."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from gatepost.model.errors import FieldProblem, Invalid

T = TypeVar("T")
MOST = 50  # problems named in one error; nobody reads more
_IN_MESSAGE = 3  # of them in its sentence


class ProblemCollector:
    """Runs checks one after the other and keeps what each refuses."""

    def __init__(self) -> None:
        self._found: list[Invalid] = []

    def read(self, check: Callable[..., T], *arguments: Any, **options: Any) -> T | None:
        """What the check returns; None where it refuses."""
        try:
            return check(*arguments, **options)
        except Invalid as error:
            self._found.append(error)
            return None

    def read_each(self, path: str, rows: Iterable[Any], check: Callable[..., T], **options: Any) -> list[T]:
        """Every row of a list by its own path, up to the number of problems that an error names."""
        read = []
        for i, row in enumerate(rows):
            if len(self._found) >= MOST:
                break
            value = self.read(check, f"{path}[{i}]", row, **options)
            if value is not None:
                read.append(value)
        return read

    def check(self) -> None:
        """Raises everything that was refused so far as one error."""
        if self._found:
            raise joined(self._found)

    def error(self) -> Invalid | None:
        """The same without raising it; None where nothing was refused."""
        return joined(self._found) if self._found else None


def read_each(path: str, rows: Iterable[Any], check: Callable[..., T], **options: Any) -> list[T]:
    """All rows of a list, or one error that names every wrong one."""
    problems = ProblemCollector()
    read = problems.read_each(path, rows, check, **options)
    problems.check()
    return read


def joined(errors: Sequence[Invalid]) -> Invalid:
    """One error for several. Its code is that of the first; its fields are those of all, each once."""
    if len(errors) == 1:
        return errors[0]
    fields = tuple(dict.fromkeys(field for error in errors for field in error.fields))[:MOST]
    return Invalid(sentence(fields), errors[0].code, fields=fields)


def invalid_fields(fields: Sequence[FieldProblem]) -> Invalid:
    """The error for these problems, of which there is at least one."""
    return Invalid(sentence(fields), fields=tuple(fields[:MOST]))


def sentence(fields: Sequence[FieldProblem]) -> str:
    """What is wrong, in words: the first few problems, and how many more there are."""
    named = "; ".join(f"{one.field}: {one.message}" for one in fields[:_IN_MESSAGE])
    more = len(fields) - _IN_MESSAGE
    return f"{named}; and {more} more, see error.fields" if more > 0 else named
