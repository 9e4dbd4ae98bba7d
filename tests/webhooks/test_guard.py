"""The guard: which URLs may be called, parsed as the HTTP client does, and which address is pinned."""

import asyncio
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.webhooks.dns import ResolvedName
from gatepost.webhooks.forbidden_addresses import EMBEDDING, IPV4, IPV6, forbidden
from gatepost.webhooks.guard import REUSE_SECONDS, ForbiddenUrl, Guard, UnresolvedUrl, UrlRefused
from gatepost.webhooks.resolver import Resolver
from tests.for_each import for_each

PUBLIC, PUBLIC6 = "93.184.215.14", "2606:2800:21f:cb07::1"


class Names:
    """A resolver with the answers of the test: one per call, the last one repeated."""

    def __init__(self, *answers: Sequence[str] | Exception) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []

    async def __call__(self, host: str, channel: object) -> ResolvedName:
        self.questions.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        await asyncio.sleep(0)
        if isinstance(answer, Exception):
            raise answer
        return ResolvedName(tuple(answer), REUSE_SECONDS)


# The ranges ---------------------------------------------------------------------------------------------------------


def closed_ipv4(address: IPv4Address) -> bool:
    """An independent implementation of the rules, octet by octet, to compare the table with."""
    a, b, c, d = address.packed
    return (
        a in (0, 10, 127)
        or a >= 224
        or (a == 100 and 64 <= b <= 127)
        or (a == 169 and b == 254)
        or (a == 172 and 16 <= b <= 31)
        or (a == 192 and b == 168)
        or (a == 192 and b == 0 and c in (0, 2))
        or (a == 192 and b == 88 and c == 99)
        or (a == 198 and b in (18, 19))
        or (a == 198 and b == 51 and c == 100)
        or (a == 203 and b == 0 and c == 113)
        or (a, b, c, d) == (168, 63, 129, 16)
    )


def closed_ipv6(address: IPv6Address) -> bool:
    """The same for IPv6, group by group."""
    raw = address.packed
    groups = [int.from_bytes(raw[i : i + 2]) for i in range(0, 16, 2)]
    if groups[:6] == [0, 0, 0, 0, 0, 0xFFFF] or groups[:6] == [0x64, 0xFF9B, 0, 0, 0, 0]:
        return closed_ipv4(IPv4Address(raw[12:]))
    if groups[0] == 0x2002:
        return closed_ipv4(IPv4Address(raw[2:6]))
    return (
        groups[0] >> 13 != 1
        or (groups[0] == 0x2001 and groups[1] < 0x200)
        or (groups[0] == 0x2001 and groups[1] == 0xDB8)
        or (groups[0] == 0x3FFF and groups[1] < 0x1000)
    )


# Addresses in, at the edge of, and just beside every row of the tables: where mistakes live.
EDGES = [
    (network.version, value)
    for network in map(ip_network, [cidr for cidr, _ in (*IPV4, *IPV6, *EMBEDDING)])
    for edge in (int(network.network_address), int(network.broadcast_address))
    for value in (edge - 1, edge, edge + 1)
    if 0 <= value < 2**network.max_prefixlen
]


@given(value=st.integers(0, 2**32 - 1) | st.sampled_from([value for version, value in EDGES if version == 4]))
def test_the_ipv4_table_agrees_with_the_rules(value: int) -> None:
    address = IPv4Address(value)
    assert (forbidden(str(address)) is not None) == closed_ipv4(address)


@given(
    value=st.integers(0, 2**128 - 1)
    | st.integers(0, 2**125 - 1).map(lambda low: low | 1 << 125)
    | st.sampled_from([value for version, value in EDGES if version == 6])
)
def test_the_ipv6_table_agrees_with_the_rules(value: int) -> None:
    address = IPv6Address(value)
    assert (forbidden(str(address)) is not None) == closed_ipv6(address)


def test_every_edge_of_every_row_agrees_with_the_rules() -> None:
    for version, value in EDGES:
        if version == 4:
            assert (forbidden(str(IPv4Address(value))) is not None) == closed_ipv4(IPv4Address(value))
        else:
            assert (forbidden(str(IPv6Address(value))) is not None) == closed_ipv6(IPv6Address(value))


@given(value=st.integers(0, 2**32 - 1))
def test_an_ipv4_address_inside_ipv6_is_checked_as_itself(value: int) -> None:
    inner = IPv4Address(value)
    for outer in (0xFFFF << 32 | value, 0x64FF9B << 96 | value, 0x2002 << 112 | value << 80 | 7):
        assert (forbidden(str(IPv6Address(outer))) is None) == (forbidden(str(inner)) is None)


@for_each(
    ("address", "words"),
    [
        ("127.0.0.1", "loopback"),
        ("169.254.169.254", "metadata"),
        ("100.64.0.1", "carrier"),
        ("100.100.100.200", "carrier"),
        ("168.63.129.16", "cloud"),
        ("192.0.0.192", "protocol"),
        ("255.255.255.255", "broadcast"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::7f00:1", "compatible"),
        ("::ffff:10.0.0.1", "private network, wrapped"),
        ("64:ff9b::a9fe:a9fe", "metadata"),
        ("64:ff9b:1::1", "NAT64"),
        ("2002:7f00:1::", "loopback"),
        ("2001::1", "Teredo"),
        ("fd00:ec2::254", "private"),
        ("fe80::1%eth0", "link-local"),
        ("fec0::1", "site-local"),
        ("ff02::1", "multicast"),
        ("5f00::1", "SRv6"),
        ("example.com", "not an IP"),
        ("", "not an IP"),
    ],
)
def test_the_reason_explains_the_range(address: str, words: str) -> None:
    assert words in (forbidden(address) or "")


@pytest.mark.parametrize("address", ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2001:4860:4860::8888"])
def test_public_addresses_are_open(address: str) -> None:
    assert forbidden(address) is None


# The shape of a URL -------------------------------------------------------------------------------------------------

FORBIDDEN = [
    "http://127.0.0.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://017700000001/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1%25eth0]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://10.0.0.1/",
    "http://localhost/",
    "http://localhost./",
    "http://LOCALHOST:8080/",
    "http://api.localhost/",
    "http://user@example.com/",
    "http://user:password@example.com/",
    "http://:password@example.com/",
    "http://example.com\\@127.0.0.1:22/",
    "http://127.0.0.1%00.example.com/",
    "http://exam\x00ple.com/",
    "http://example.com:22/",
    "http://example.com:25/",
    "http://example.com:5432/",
    "https://example.com:6379/",
    "http://example.com:0/",
    "http://example.com:99999/",
    "ftp://example.com/",
    "http://./",
    "http://.example.com/",
    "http://example..com/",
    "http://example.com../",
    "file:///etc/passwd",
    "gopher://example.com/",
    "ws://example.com/",
    "javascript:alert(1)",
    "unix:/run/docker.sock",
    "//example.com/",
    "example.com",
    "",
    "http://",
    "http://256.1.1.1/",
    "http://exa mple.com/",
    "http://" + "a" * 254 + "/",
    "https://example.com/" + "a" * 2048,
    "https://example.com/" + "é" * 500,
    "http://\ud800.example/",
]


@for_each("url", [url for url in FORBIDDEN if "\\@" not in url])
async def test_forbidden_forms_are_refused_on_saving_and_on_calling(url: str) -> None:
    names = Names([PUBLIC])
    guard = Guard([], names)
    with pytest.raises(ForbiddenUrl) as caught:
        guard.check_shape(url)
    assert caught.value.reason.endswith(".")
    with pytest.raises(ForbiddenUrl):
        await guard.check(url)
    assert names.questions == []


async def test_a_forbidden_address_names_the_setting_that_allows_it() -> None:
    with pytest.raises(ForbiddenUrl, match=r"webhooks\.allow"):
        await Guard([], Names([PUBLIC])).check("http://127.0.0.1:9000/hook")


async def test_a_backslash_ends_the_host_as_in_the_http_client() -> None:
    target = await Guard([], Names([PUBLIC])).check("http://example.com\\@127.0.0.1:22/")
    assert (target.host, target.port, target.address) == ("example.com", 80, PUBLIC)


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://example.com/hook?a=1", "example.com", 443),
        ("http://example.com:8080/", "example.com", 8080),
        ("https://EXAMPLE.com.:8443", "example.com.", 8443),
        ("https://bücher.example/ü", "xn--bcher-kva.example", 443),
        ("http:example.com", "example.com", 80),
    ],
)
async def test_public_urls_are_resolved_and_pinned(url: str, host: str, port: int) -> None:
    target = await Guard([], Names([PUBLIC, PUBLIC6])).check(url)
    assert (target.host, target.port) == (host, port)
    assert (target.address, target.addresses, target.literal) == (PUBLIC, (PUBLIC, PUBLIC6), False)


@pytest.mark.parametrize(("url", "address"), [("http://8.8.8.8/", "8.8.8.8"), (f"https://[{PUBLIC6}]/", PUBLIC6)])
async def test_a_public_literal_is_its_own_address(url: str, address: str) -> None:
    names = Names(OSError())
    target = await Guard([], names).check(url)
    assert (target.address, target.literal, names.questions) == (address, True, [])


@given(url=st.text() | st.text().map("http://{}".format) | st.text(".0123456789xabf:[]@%/\\。").map("http://{}".format))
def test_no_text_makes_the_guard_fail(url: str) -> None:
    try:
        Guard().check_shape(url)
    except ForbiddenUrl as refusal:
        assert refusal.reason  # noqa: PT017


@given(value=st.integers(0, 2**32 - 1))
def test_every_way_to_write_an_ipv4_address_is_the_same_address(value: int) -> None:
    a, b, c, d = IPv4Address(value).packed
    forms = [
        f"{a}.{b}.{c}.{d}",
        str(value),
        hex(value),
        f"0{value:o}",
        f"{a}.{value & 0xFFFFFF}",
        f"{a:#x}.0{b:o}.{c}.{d}",
    ]
    for form in (*forms, f"[::ffff:{a}.{b}.{c}.{d}]"):
        allowed = True
        try:
            Guard().check_shape(f"http://{form}/")
        except ForbiddenUrl:
            allowed = False
        assert allowed == (not closed_ipv4(IPv4Address(value))), form


# Names --------------------------------------------------------------------------------------------------------------


@for_each(
    "answers",
    [
        ["10.0.0.5"],
        [PUBLIC, "10.0.0.5"],
        [PUBLIC, "::1"],
        ["::ffff:169.254.169.254"],
        [PUBLIC6, "fd00::1"],
        ["gibberish"],
    ],
)
async def test_one_forbidden_address_among_many_refuses_the_name(answers: list[str]) -> None:
    with pytest.raises(ForbiddenUrl) as caught:
        await Guard([], Names(answers)).check("https://rebind.example/")
    assert not any(answer in caught.value.reason for answer in answers)


@pytest.mark.parametrize("failure", [OSError("no such name"), UnicodeError("label empty"), TimeoutError()])
async def test_a_name_without_an_address_is_refused_for_the_moment(failure: Exception) -> None:
    guard = Guard([], Names(failure, [PUBLIC]))
    with pytest.raises(UnresolvedUrl):
        await guard.check("https://example.com/")
    assert (await guard.check("https://example.com/")).address == PUBLIC


async def test_an_empty_answer_is_refused_for_the_moment() -> None:
    with pytest.raises(UnresolvedUrl):
        await Guard([], Names([])).check("https://example.com/")


async def test_a_resolver_that_hangs_is_given_up() -> None:
    async def hang(host: str, channel: object) -> ResolvedName:
        await asyncio.Event().wait()
        return ResolvedName((), 0)

    with pytest.raises(UnresolvedUrl):
        await Guard([], hang, timeout=0.02).check("https://example.com/")


async def test_rebinding_has_no_effect_until_the_next_check() -> None:
    now = 0.0
    names = Names([PUBLIC], ["127.0.0.1"])
    guard = Guard([], names, clock=lambda: now)
    first = await guard.check("https://rebind.example/")
    now = REUSE_SECONDS - 0.1
    assert await guard.check("https://rebind.example/") is first
    assert first.address == PUBLIC
    now = REUSE_SECONDS + 0.1
    assert guard.recall("https://rebind.example/") is None
    with pytest.raises(ForbiddenUrl):
        await guard.check("https://rebind.example/")
    assert len(names.questions) == 2


async def test_many_checks_at_once_ask_once() -> None:
    names = Names([PUBLIC])
    guard = Guard([], names)
    targets = await asyncio.gather(*(guard.check("https://example.com/") for _ in range(50)))
    assert {target.address for target in targets} == {PUBLIC}
    assert names.questions == ["example.com"]


async def test_a_cancelled_caller_does_not_cancel_the_check_of_others() -> None:
    guard = Guard([], Names([PUBLIC]))
    impatient = asyncio.create_task(guard.check("https://example.com/"))
    patient = asyncio.create_task(guard.check("https://example.com/"))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).address == PUBLIC


async def test_the_system_resolver_knows_localhost() -> None:
    resolver = Resolver()
    target = await Guard(["127.0.0.0/8", "::1/128"], resolver).check("http://localhost:8080/")
    await resolver.close()
    assert set(target.addresses) <= {"127.0.0.1", "::1"}


# What is allowed all the same ---------------------------------------------------------------------------------------


@for_each(
    ("allow", "url", "is_open"),
    [
        ("127.0.0.0/8", "http://127.0.0.1:9000/", True),
        ("127.0.0.0/8", "http://0x7f.1:9000/", True),
        ("127.0.0.0/8", "http://10.0.0.1/", False),
        ("127.0.0.0/8", "http://[::1]/", False),
        ("127.0.0.0/8", "http://127.0.0.1:5432/", False),
        ("127.0.0.1", "http://127.0.0.1/", True),
        ("127.0.0.1", "http://127.0.0.2/", False),
        ("::1/128", "http://[::1]:9000/", True),
        ("inner.example", "http://inner.example/", True),
        ("INNER.example", "http://inner.EXAMPLE./", True),
        ("inner.example", "http://evil.inner.example/", False),
        ("inner.example", "http://other.example/", False),
        ("inner.example:9000", "http://inner.example:9000/", True),
        ("inner.example:9000", "http://inner.example:9001/", False),
        ("inner.example:5432", "http://inner.example:5432/", True),
        ("127.0.0.1:9000", "http://127.0.0.1:9000/", True),
        ("127.0.0.1:9000", "http://127.0.0.1:9001/", False),
        ("[::1]:9000", "http://[::1]:9000/", True),
    ],
)
async def test_the_allow_list_opens_exactly_what_it_names(allow: str, url: str, is_open: bool) -> None:
    guard = Guard([allow], Names(["10.9.8.7"]))
    if is_open:
        assert (await guard.check(url)).addresses
    else:
        with pytest.raises(UrlRefused):
            await guard.check(url)


@pytest.mark.parametrize("entry", ["", "127.0.0.0/99", "10.0.0.1/8", "http://example.com/"])
def test_an_invalid_entry_of_the_allow_list_raises_at_once(entry: str) -> None:
    with pytest.raises(ValueError, match="allow"):
        Guard([entry])
