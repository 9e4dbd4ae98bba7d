"""The Cloud API as a network kind: official numbers, reached over HTTP with one client per process."""

from datetime import timedelta
from functools import partial

import msgspec

from gatepost.model.message import Capabilities
from gatepost.model.person import USER
from gatepost.networks.base import CredentialReport
from gatepost.networks.cloud.business_account import CloudAccount
from gatepost.networks.cloud.callback import CloudCallbackReader
from gatepost.networks.cloud.compose import WRITERS, accepted_fields
from gatepost.networks.cloud.credential_checks import check_credentials
from gatepost.networks.cloud.file_hosts import FileHosts
from gatepost.networks.cloud.graph import Graph, make_client
from gatepost.networks.cloud.secrets import ChannelSecrets
from gatepost.networks.cloud.send import CloudNetwork
from gatepost.networks.kind import Callbacks, Connector, NetworkChannel, NetworkKind, NetworkParts

_decode_secrets = msgspec.json.Decoder(ChannelSecrets).decode


def _connect(parts: NetworkParts) -> Connector:
    cloud = parts.settings.cloud
    client = make_client(cloud.timeout, cloud.connect_timeout)

    def number(channel: NetworkChannel) -> tuple[str, str, str]:
        address = channel.address
        version = address.get("version") or cloud.version
        return address.get("base_url") or cloud.base_url, version, address["phone_number_id"]

    def open_network(channel: NetworkChannel) -> CloudNetwork:
        files = FileHosts(frozenset(cloud.media_hosts), partial(parts.guarded_client, channel.id))
        return CloudNetwork(client, *number(channel), _decode_secrets(channel.secrets).token, files)

    def open_business(channel: NetworkChannel) -> CloudAccount:
        waba_id, token = channel.address.get("waba_id", ""), _decode_secrets(channel.secrets).token
        return CloudAccount(client, *number(channel), waba_id, token)

    async def test(channel: NetworkChannel) -> CredentialReport:
        base_url, version, phone_number_id = number(channel)
        secrets = _decode_secrets(channel.secrets)
        graph = Graph(client, base_url, version, secrets.token)
        return await check_credentials(graph, phone_number_id, channel.address.get("waba_id"), secrets)

    return Connector(client.close, open=open_network, business=open_business, test=test)


CLOUD = NetworkKind(
    name="official",
    capabilities=Capabilities(
        types=frozenset(("text", *WRITERS)),
        templates=True,
        window=True,
        hidden_people=USER,
    ),
    pacing="tiers",
    connect=_connect,
    credentials=True,
    keeps_uploads=timedelta(days=29),  # the network deletes them after 30 days
    fetches_links=True,
    accepted_fields=accepted_fields,
    accepted_alike=True,
    callbacks=Callbacks("cloud", CloudCallbackReader.open),
)
