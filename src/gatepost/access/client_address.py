"""Addresses of clients, where requests and connections are counted per address."""

from ipaddress import ip_address, ip_network


def client_network(address: str) -> str:
    """Return an IPv4 address unchanged, and the /64 network of an IPv6 address: a client has a whole one."""
    try:
        parsed = ip_address(address)
    except ValueError:  # a Unix socket
        return address
    if parsed.version == 4:
        return address
    mapped = parsed.ipv4_mapped  # a dual-stack socket maps all IPv4 addresses into one IPv6 network
    return str(mapped or ip_network((int(parsed), 64), strict=False))
