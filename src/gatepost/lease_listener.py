"""Who is told what happens to the leases of a process."""

from collections.abc import Callable

import msgspec
import structlog

from gatepost.store.channel_head import Lease

log = structlog.get_logger("gatepost.owner")


def _ignore(*_: object) -> None:
    """Does nothing."""


class LeaseListener(msgspec.Struct, frozen=True):
    """Called when something happens to leases."""

    failed: Callable[[str], None] = _ignore  # what went wrong: one of `metrics.LEASE_EVENTS`
    moved: Callable[[str], None] = _ignore  # why a channel was claimed or released: one of `metrics.LEASE_MOVES`
    released: Callable[[], None] = _ignore  # there are channels that other processes can claim

    def claimed(self, lease: Lease) -> None:
        """Count and log a claim."""
        self.moved("claimed" if lease.taken_from is None else "taken_over")
        if lease.taken_from is not None:
            self.failed("taken_over")
            channel, before = lease.channel_id.hex, lease.taken_from.hex
            log.warning("channel taken over", channel=channel, previous_owner=before, epoch=lease.epoch)
