"""The secrets of an official number."""

import msgspec


class ChannelSecrets(msgspec.Struct, frozen=True):
    """The token that the network is called with, and what its callbacks are verified with."""

    token: str
    app_secret: str
    verify_token: str
