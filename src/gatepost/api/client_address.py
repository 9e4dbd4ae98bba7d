"""Who an address stands for, where things are counted per address."""

from ipaddress import ip_address, ip_network


def client_network(address: str) -> str:
    """An IPv4 address as it is; of IPv6 the /64 network, since everybody has a whole one."""
    try:
        known = ip_address(address)
    except ValueError:  # a socket in the file system
        return address
    if known.version == 4:
        return address
    inner = known.ipv4_mapped  # on a socket for both kinds the old addresses all lie in one network of the new
    return str(inner or ip_network((int(known), 64), strict=False))
