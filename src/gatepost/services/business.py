"""The business account of a channel: its templates, its profile, its number. Not every network has one."""

from collections.abc import Callable

from gatepost.model import ids
from gatepost.model.errors import Invalid
from gatepost.networks.base import BusinessAccount
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.store.channels import ChannelConfig

OpenBusiness = Callable[[ChannelConfig], BusinessAccount | None]


def open_business(channel: ChannelConfig, open_: OpenBusiness, what: str) -> BusinessAccount:
    """Return the channel's business account, or reject the request if its network has none."""
    business = open_(channel)
    if business is None:
        raise _unsupported(what)
    return business


def open_account(channel: ChannelConfig, open_: OpenBusiness) -> BusinessAccount:
    """Return the business account that the channel's templates belong to, or reject the request if it is not set."""
    business = open_business(channel, open_, "templates")
    if not channel.network.get("waba_id"):
        raise Invalid(
            "The business account of this number is not set. The operator sets it with "
            f"'gatepost channel network {ids.format_id('ch', channel.id)} --waba-id ID'.",
            "unsupported_on_channel",
        )
    return business


def check_templates(kind: str) -> None:
    """Reject a kind of channel whose network has no templates."""
    if not NETWORK_KINDS[kind].capabilities.templates:
        raise _unsupported("templates")


def _unsupported(what: str) -> Invalid:
    return Invalid(f"The network of this channel does not support {what}.", "unsupported_on_channel")
