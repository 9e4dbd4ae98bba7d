"""Whether the process is alive and ready."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

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
    cells: Annotated[
        dict[str, bool] | UnsetType,
        Meta(description="Whether each cell is ready, if there are several. One is enough.", examples=[{"main": True}]),
    ] = UNSET

    @property
    def passed(self) -> bool:
        """Whether all checks passed."""
        return self.database and self.writes and self.migrations and self.owner
