"""The registered networks."""

from gatepost.networks.cloud.kind import CLOUD
from gatepost.networks.kind import NetworkKind
from gatepost.networks.qr.kind import QR

__all__ = ["CLOUD", "NETWORK_KINDS", "QR"]

NETWORK_KINDS: dict[str, NetworkKind] = {kind.name: kind for kind in (CLOUD, QR)}
