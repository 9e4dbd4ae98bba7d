"""Arguments that name a record by its id; the command gets the record."""

from typing import Annotated

import typer

from gatepost.cli.options import Lookup
from gatepost.store.accounts import Account, get_account
from gatepost.store.channels import ChannelConfig, get_config
from gatepost.store.endpoints import Endpoint, find_endpoint
from gatepost.store.keys import ApiKey, find_key

ACCOUNT = Lookup("acc", get_account)
CHANNEL = Lookup("ch", get_config)
_CHANNEL_HELP = "Id of the channel: ch_…"

AccountArgument = Annotated[Account, typer.Argument(metavar="ACCOUNT", help="Id of the account: acc_…"), ACCOUNT]
AccountOption = Annotated[Account | None, typer.Option(help="Only channels of this account: acc_…"), ACCOUNT]
ChannelArgument = Annotated[ChannelConfig, typer.Argument(metavar="CHANNEL", help=_CHANNEL_HELP), CHANNEL]
OptionalChannel = Annotated[
    ChannelConfig | None,
    typer.Argument(metavar="[CHANNEL]", help=_CHANNEL_HELP, show_default="all channels"),
    CHANNEL,
]
KeyArgument = Annotated[ApiKey, typer.Argument(metavar="KEY", help="Id of the key: key_…"), Lookup("key", find_key)]
WebhookArgument = Annotated[
    Endpoint, typer.Argument(metavar="WEBHOOK", help="Id of the webhook: we_…"), Lookup("we", find_endpoint)
]
