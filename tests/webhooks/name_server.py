"""A DNS server on loopback: it knows a few names, denies the others, and stays silent about some."""

import asyncio
import ipaddress
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from gatepost.webhooks.dns import DnsLookup

_A, _AAAA = 1, 28


class NameServer(asyncio.DatagramProtocol):
    """Answers for `names`; a name that ends in `.dead` is never answered, any other is NXDOMAIN."""

    def __init__(self, names: Mapping[str, Sequence[str]], ttl: int) -> None:
        self.names = dict(names)
        self.ttl = ttl
        self.asked: list[str] = []
        self.port = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: Any) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        name, (kind,) = ".".join(labels).lower(), struct.unpack(">H", data[at + 1 : at + 3])
        self.asked.append(name)
        if name.endswith(".dead"):
            return
        found = [ipaddress.ip_address(address) for address in self.names.get(name, ())]
        records = [
            b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, self.ttl, len(one.packed)) + one.packed
            for one in found
            if kind == (_A if one.version == 4 else _AAAA)
        ]
        code = 0 if name in self.names else 3
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        self._transport.sendto(head + data[12 : at + 5] + b"".join(records), addr)


@asynccontextmanager
async def name_server(names: Mapping[str, Sequence[str]], ttl: int = 60) -> AsyncIterator[NameServer]:
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(lambda: NameServer(names, ttl), ("127.0.0.1", 0))
    try:
        yield server
    finally:
        transport.close()


def lookup_at(server: NameServer, **more: Any) -> DnsLookup:
    """Lookups that ask this server."""
    return DnsLookup(nameservers=[f"127.0.0.1:{server.port}"], **more)
