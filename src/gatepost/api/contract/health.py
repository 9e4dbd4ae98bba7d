"""Whether the process is alive and ready."""

from gatepost.api.contract.fields import ApiObject


class Alive(ApiObject, frozen=True):
    """The process runs."""

    alive: bool


class ReadyChecks(ApiObject, frozen=True):
    """The checks of a process, each with its result."""

    database: bool
    writes: bool
    migrations: bool
    owner: bool
