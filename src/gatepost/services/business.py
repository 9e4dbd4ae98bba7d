"""The business behind an official channel: its account with the templates, its profile, its number."""

from collections.abc import Callable

from gatepost.model import ids
from gatepost.model.errors import Invalid
from gatepost.networks.cloud.manage import CloudAccount
from gatepost.store.channels import ChannelConfig

OpenBusiness = Callable[[ChannelConfig], CloudAccount]


def open_business(channel: ChannelConfig, way: OpenBusiness, what: str) -> CloudAccount:
    """The channel's business on the network; refused on channels that have none."""
    check_official(channel.kind, what)
    return way(channel)


def open_account(channel: ChannelConfig, way: OpenBusiness) -> CloudAccount:
    """The channel's business account, which templates belong to; refused while nobody has said which it is."""
    business = open_business(channel, way, "templates")
    if not channel.network.get("waba_id"):
        raise Invalid(
            "Nobody has said which business account this number belongs to. The operator sets it with "
            f"'gatepost channel network {ids.show('ch', channel.id)} --waba-id ID'.",
            "unsupported_on_channel",
        )
    return business


def check_official(kind: str, what: str) -> None:
    """Refuses a kind of channel whose network knows no businesses."""
    if kind != "official":
        raise Invalid(f"Only official channels have {what}; this one is linked by QR code.", "unsupported_on_channel")
