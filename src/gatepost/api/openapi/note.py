"""What is noted of a route: all that its handler does not say of itself.

data      the type of `data` in the answer; None: null; a list: a page, with `paging`
query     parameters, described in `parameters.py`
errors    codes of refusal besides those that go without saying (`problems.py`)
example   a body that works; {{name}} stands for what an earlier answer gave
keeps     names for parts of the answer, for later requests of the collection
asks      parameters of the query that the example sets
uses      parameter of the path → the kept name that the example puts there, where it is not its own
more      further examples
turn      its turn among the requests of its folder; those of one turn keep the order of the routes
only      the kind of channel that it is for
after     what the example has to wait for before it is sent
needs     variables of the collection that a person has to fill in first
"""

from typing import Any

import msgspec


class Wait(msgspec.Struct, frozen=True):
    """An address that is asked until its `data` fulfils a condition, in JavaScript; in vain, the example is skipped."""

    path: str
    condition: str
    tries: int = 20


class Sample(msgspec.Struct, frozen=True):
    """One example of a request."""

    title: str
    body: Any = None
    keeps: dict[str, str] = {}
    asks: dict[str, str] = {}
    only: str | None = None
    after: Wait | None = None
    folder: str = ""
    upload: str = ""
    upload_type: str = ""


class Note(msgspec.Struct, frozen=True):
    """What is to be said of one route."""

    data: Any = None
    query: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    example: Any = None
    examples: dict[str, Any] = {}  # one of each kind, where there are kinds; `example` is the first of them
    keeps: dict[str, str] = {}
    only: str | None = None
    binary: tuple[str, ...] = ()  # media types of an answer that is no JSON
    upload: str = ""  # the body is a file, such as this
    upload_type: str = "text/plain"
    headers: tuple[str, ...] = ()
    extra: dict[int, Any] = {}  # further statuses of success, and their data
    asks: dict[str, str] = {}
    uses: dict[str, str] = {}
    more: tuple[Sample, ...] = ()
    turn: int = 0
    needs: tuple[str, ...] = ()
    after: Wait | None = None
    folder: str = ""  # where it stands in the collection, if not with its resource
