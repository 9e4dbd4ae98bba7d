"""A gateway whose links are held by the real child, and the network of phones that it dials.

running_phones ─► network (node) ◄── the library (node) ◄── child ◄── gateway, in the test's own loop
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from gatepost.model import ids
from gatepost.networks.qr import kind as qr_kind
from gatepost.networks.qr.child_driver import ChildDriver, Devices
from gatepost.networks.qr.driver import DriverTimeouts
from tests.conformance.phone_line import PhoneLine
from tests.networks.qr.phones import Network, child_at, start_network
from tests.running_gateway import Gateway, running_gateway

_numbers = count(1)
HOST = "127.0.0.1"


class Phones:
    """The gateway, its network, and the programs that held its links so far."""

    def __init__(self, network: Network, url: str) -> None:
        self.network = network
        self.url = url  # of the database
        self.gateway: Gateway
        self.children: list[ChildDriver] = []
        self._lines: list[PhoneLine] = []

    async def new_line(self, *, linked: bool = True) -> PhoneLine:
        """A fresh channel, of a phone of its own."""
        phone = f"1555300{next(_numbers):04d}"
        channel = await self.gateway.new_qr_channel(self.gateway.account_id, phone)
        key, session = await self.gateway.new_key(channel.id), ids.format_id("ch", channel.id)
        line = PhoneLine(self.gateway, channel.id, session, phone, key, network=self.network)
        self._lines.append(line)
        if linked:
            await line.link()
        return line

    def driver(self, program: tuple[str, str], devices: Devices, **options: Any) -> ChildDriver:
        self.children.append(ChildDriver(devices, program=program, health=DriverTimeouts(first_wait=0.05), **options))
        return self.children[-1]

    async def close(self) -> None:
        for line in self._lines:
            await line.close()


@asynccontextmanager
async def running_phones(url: str, folder: Path, **overrides: Any) -> AsyncIterator[Phones]:
    """A gateway with nothing but real links, on a database of its own."""
    key, certificate = certify(folder)
    network = await start_network(TLS_KEY=key, TLS_CERT=certificate)
    phones = Phones(network, url)
    program = child_at(network.ready, folder / "child.py", NODE_EXTRA_CA_CERTS=certificate)
    settings = {"qr__link_url": "", "qr__engine": "baileys", **overrides}
    try:
        with patch.object(qr_kind, "ChildDriver", partial(phones.driver, program)):
            async with running_gateway(url, **settings) as phones.gateway:
                yield phones
                await phones.close()
    finally:
        await network.close()


def certify(folder: Path) -> tuple[str, str]:
    """Writes a key and a certificate that vouches for itself; returns their paths."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False)
    files = folder / "key.pem", folder / "certificate.pem"
    files[0].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    files[1].write_bytes(builder.sign(key, SHA256()).public_bytes(Encoding.PEM))
    return str(files[0]), str(files[1])
