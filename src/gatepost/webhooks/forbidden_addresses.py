"""Addresses and ports that no customer-supplied URL may reach, from the IANA registries.

    IPv4 ─────────────────────────────────► table of IPv4 ranges
    IPv6 with an embedded IPv4 ─► the IPv4 ─┘
    other IPv6 ───────────────────────────► table of IPv6 ranges, which ends with "all but 2000::/3"

`ipaddress.is_private` is not used: before Python 3.12.4 it is wrong, and it does not cover 100.64.0.0/10.
"""

from ipaddress import ip_address, ip_network

Range = tuple[int, int, str]

IPV4 = (
    ("0.0.0.0/8", "this network (0.0.0.0/8)"),
    ("10.0.0.0/8", "a private network"),
    ("100.64.0.0/10", "shared address space (carrier-grade NAT)"),
    ("127.0.0.0/8", "this machine itself (loopback)"),
    ("169.254.0.0/16", "link-local, where cloud metadata services live"),
    ("172.16.0.0/12", "a private network"),
    ("192.0.0.0/24", "reserved for protocol assignments"),
    ("192.0.2.0/24", "reserved for documentation"),
    ("192.88.99.0/24", "reserved for 6to4 relays"),
    ("192.168.0.0/16", "a private network"),
    ("198.18.0.0/15", "reserved for benchmarks"),
    ("198.51.100.0/24", "reserved for documentation"),
    ("203.0.113.0/24", "reserved for documentation"),
    # In a public block, but reachable only from the machines of a cloud, whose configuration it serves.
    ("168.63.129.16/32", "a cloud platform's internal service"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
)

# More specific rows come first; the last three leave only 2000::/3, the block of global unicast.
IPV6 = (
    ("::/128", "the unspecified address"),
    ("::1/128", "this machine itself (loopback)"),
    ("::/96", "an outdated IPv4-compatible address"),
    ("::ffff:0:0:0/96", "an IPv4-translated address"),
    ("64:ff9b:1::/48", "a local translation network (NAT64)"),
    ("100::/64", "the discard range"),
    ("100:0:0:1::/64", "the dummy range"),
    ("2001::/32", "a Teredo tunnel"),
    ("2001:10::/28", "a key, not an address (ORCHID)"),
    ("2001:20::/28", "a key, not an address (ORCHID)"),
    ("2001::/23", "reserved for protocol assignments"),
    ("2001:db8::/32", "reserved for documentation"),
    ("3fff::/20", "reserved for documentation"),
    ("5f00::/16", "segment routing (SRv6)"),
    ("fc00::/7", "a private network (unique local)"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "an outdated site-local address"),
    ("ff00::/8", "multicast"),
    ("::/3", "outside the public range"),
    ("4000::/2", "outside the public range"),
    ("8000::/1", "outside the public range"),
)

# IPv6 ranges with an embedded IPv4 address, and how many bits are right of it: mapped, NAT64, 6to4.
EMBEDDING = (("::ffff:0:0/96", 0), ("64:ff9b::/96", 0), ("2002::/16", 80))

# Ports of other protocols: a POST could have an effect there.
PORTS = {
    0: "no service",
    7: "echo",
    9: "discard",
    19: "character generator",
    20: "FTP",
    21: "FTP",
    22: "SSH",
    23: "Telnet",
    25: "SMTP",
    53: "DNS",
    69: "TFTP",
    110: "POP3",
    111: "RPC",
    119: "NNTP",
    123: "NTP",
    135: "RPC",
    139: "SMB",
    143: "IMAP",
    161: "SNMP",
    389: "LDAP",
    445: "SMB",
    465: "SMTP",
    514: "syslog",
    587: "SMTP",
    636: "LDAP",
    873: "rsync",
    993: "IMAP",
    995: "POP3",
    1433: "SQL Server",
    1521: "Oracle",
    2049: "NFS",
    3306: "MySQL",
    3389: "RDP",
    5060: "SIP",
    5432: "PostgreSQL",
    5672: "AMQP",
    5900: "VNC",
    6379: "Redis",
    6667: "IRC",
    9042: "Cassandra",
    9092: "Kafka",
    11211: "memcached",
    27017: "MongoDB",
}


def _span(cidr: str) -> tuple[int, int]:
    network = ip_network(cidr)
    return int(network.network_address), int(network.broadcast_address)


_IPV4: tuple[Range, ...] = tuple((*_span(cidr), words) for cidr, words in IPV4)
_IPV6: tuple[Range, ...] = tuple((*_span(cidr), words) for cidr, words in IPV6)
_EMBEDDING = tuple((*_span(cidr), shift) for cidr, shift in EMBEDDING)


def forbidden(address: str) -> str | None:
    """Return why an IP address is forbidden; None if it is public."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return "not an IP address"
    return _find(_IPV4, int(parsed)) if parsed.version == 4 else _forbidden_ipv6(int(parsed))


def _forbidden_ipv6(value: int) -> str | None:
    for first, last, shift in _EMBEDDING:
        if first <= value <= last:
            inner = _find(_IPV4, value >> shift & 0xFFFFFFFF)
            return inner and f"{inner}, wrapped in IPv6"
    return _find(_IPV6, value)


def _find(table: tuple[Range, ...], value: int) -> str | None:
    return next((words for first, last, words in table if first <= value <= last), None)
