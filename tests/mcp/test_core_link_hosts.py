"""Which hosts a text links to: what a recipient's program may make of it counts, not only what is a proper URL."""

from gatepost.model.link_hosts import is_allowed, link_hosts, normal_host, texts_of
from tests.for_each import for_each

ALLOWED = ("shop.com", "münchen.de", "10.0.0.1")


def wrong(text: str) -> list[str]:
    """Return the hosts of a text that are not allowed."""
    return sorted(host for host in link_hosts([text]) if not is_allowed(host, ALLOWED))


@for_each(
    "text",
    [
        "Hello, how are you?",
        "See https://shop.com/a?b=c#d",
        "HTTPS://SHOP.COM:8443/",
        "https://www.shop.com.",
        "(https://shop.com)",
        "shop.com, or m.shop.com!",
        "SHOP．COM",
        "http://user:password@shop.com/",
        "https://xn--mnchen-3ya.de/",
        "MÜNCHEN.DE",
        "http://10.0.0.1:80/",
        "It costs 12.50, or 1.234,56. In 3.5kg bags.",
        "e.g. at 10 a.m., i.e. soon... Thanks.",
        "Version 1.2.3 of 15.11.2026",
        "Your invoice.pdf and photo.JPG",
        "https://shop.com/index.html",
        "好的。谢谢。再见！",
        "ありがとう。またね",
        "https://shop.com…",
        "call 55.11.9999.8888",
        "",
    ],
)
def test_what_is_allowed(text: str) -> None:
    assert wrong(text) == []


@for_each(
    "text",
    [
        "evil.com",
        "Evil.Com",
        "evil.com.",
        "see evil.com/path?x=1",
        "evil.com:8080",
        "www.evil.com",
        "evil.co.uk",
        "ok.so",
        "sub.evil.travel",
        "evil．com",  # full-width
        "ｅｖｉｌ.ｃｏｍ",
        "evil。com",  # the full stop of Chinese
        "evil｡com",
        "evil\u2024com",  # one dot leader
        "ev\u200bil.com",  # zero-width space
        "ev\u00adil.com",  # soft hyphen
        "evil\u2060.\u2060com",
        "evil\ufe0f.com",
        "\u202emoc.evil.com",  # right to left
        "evil.com\u200b.shop.com",
        "evil.com\u2060.shop.com",
        "evil.com_x.shop.com",
        "evil.com-.shop.com",
        "evil.com..shop.com",
        "evil.com\u24e2.shop.com",  # a circled s
        "evil.c\u2100.shop.com",  # a/c in one character
        "evil.com\u2044.shop.com",  # fraction slash
        "evil.com.5",
        "shop.com.evil.com",
        "notshop.com",
        "shop.com-evil.com",
        "shоp.com",  # with a Cyrillic o
        "xn--shp-nmc.com",
        "xn--shop-.com",
        "https://good@evil.com",
        "https://shop.com@evil.com",
        "https://shop.com:443@evil.com/",
        "https://shop.com%40evil.com",
        "https://evil%2ecom",
        "https://shop.com\\@evil.com",
        "https:\\\\evil.com",
        "https:/evil.com",
        "https:evil.com",
        "https:///evil.com",
        "https://evil",
        "http://localhost/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://[::1]:80/",
        "http://[::ffff:1.2.3.4]",
        "1.2.3.4",
        "0x7f.0.0.1",
        "http://1.2.3.4",
        "http://10.0.0.1.evil.com",
        "http://10.0.0.10",
        "ftp://evil.com",
        "whatsapp://send?text=x",
        "wa.me/5511999998888",
        "mailto:someone@evil.com",
        "someone@evil.com",
        "https://shop.com/?next=https://evil.com",
        "https://shop.com/)evil.com",
        "https://😀.evil",
        "https://😀/",
        "例子.中国",
        "пример.рф",
        "उदाहरण.भारत",
        "evil.com谢谢",
        "a\nevil.com\tb",
        "invoice.pdf.evil.com",
        "evil.com.pdf",
        "evil.zip",
    ],
)
def test_what_is_not_allowed(text: str) -> None:
    assert wrong(text) != []


def test_hosts_are_named_as_people_read_them() -> None:
    assert link_hosts(["https://a.EVIL.com:1/x", "xn--mnchen-3ya.de"]) == {"a.evil.com", "münchen.de"}
    assert link_hosts([]) == frozenset()


def test_all_strings_of_a_message_are_read() -> None:
    content = {
        "body": "a",
        "buttons": [{"title": "b"}],
        "template": {"variables": ["c", {"d": "e"}]},
        "n": 1,
        "x": None,
    }
    assert list(texts_of(content)) == ["a", "b", "c", "e"]


@for_each(
    ("text", "host"),
    [
        ("Example.COM.", "example.com"),
        ("xn--mnchen-3ya.de", "münchen.de"),
        ("localhost", "localhost"),
        ("https://example.com", None),
        ("example.com/", None),
        ("example.com:80", None),
        ("*.example.com", None),
        ("-a.com", None),
        ("a..com", None),
        ("", None),
        (".", None),
        ("a" * 64 + ".com", None),
    ],
)
def test_names_of_hosts(text: str, host: str | None) -> None:
    assert normal_host(text) == host
