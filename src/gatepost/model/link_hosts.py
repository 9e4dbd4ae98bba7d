"""The hosts that a text links to, as a messenger or a browser of the recipient may understand it.

"See https://shop.com:8080/a"        shop.com
"evil.com", "EVIL.COM."              evil.com               also with full-width dots, or with invisible characters
"https://good.com@evil.com"          good.com and evil.com
"http://2130706433", "http://[::1]"  2130706433, [::1]

Programs disagree about where a link begins and ends. Therefore a text is read in several ways, and every host that one
of them finds counts. Too many are found rather than too few: a path such as /a.b.example, an address of e-mail, or two
sentences without a space between them count as well. A file name such as `invoice.pdf` does not.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from typing import Any
from urllib.parse import unquote

_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*:[/\\]{2,}|https?:[/\\]*)([^\s/\\?#]+)")
_STOPS = re.compile(r"[\u3002\uff61](?=[a-z0-9-])")  # full stops of Chinese and Japanese, which are dots in hosts
_EMPTY = re.compile(r"\.{2,}")  # no label is empty
_HYPHENS = re.compile(r"-*\.-+|-+\.-*")  # for some programs, no label begins or ends with a hyphen
_NUMBER = re.compile(r"[0-9]{1,9}|0x[0-9a-f]{1,9}")
_PUNYCODE = "xn--"
# Endings of file names; none of them is a top-level domain.
_DOCUMENTS = ("pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "csv", "txt", "rtf", "vcf", "ics")
_PAGES = ("html", "htm", "php", "json", "xml")
_PICTURES = ("jpg", "jpeg", "png", "gif", "webp", "svg", "ogg", "wav")
_FILES = frozenset((*_DOCUMENTS, *_PAGES, *_PICTURES))


def link_hosts(texts: Iterable[str]) -> frozenset[str]:
    """Return all hosts in these texts, in the form of `normal_host`."""
    return frozenset(host for text in texts for reading in _readings(text) for host in _hosts(reading))


def texts_of(content: Any) -> Iterator[str]:
    """Yield all strings in the content of a message."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from texts_of(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from texts_of(value)


def is_allowed(host: str, allowed: Collection[str]) -> bool:
    """Return whether a host is one of the allowed ones, or a subdomain of one."""
    normal = {normal_host(text) for text in allowed}
    return any(host == one or host.endswith(f".{one}") for one in normal if one)


def normal_host(text: str) -> str | None:
    """Return a host name in lower case, without the last dot, in Unicode; None if it is no host name."""
    host = unicodedata.normalize("NFKC", text).lower().removesuffix(".")
    labels = host.split(".")
    if not host or len(host) > 253 or not all(map(_is_label, labels)):
        return None
    return ".".join(map(_unicode_label, labels))


def _is_label(label: str) -> bool:
    inner = all(_is_inner(character) for character in label)
    return 0 < len(label) <= 63 and inner and not label.startswith("-") and not label.endswith("-")


def _is_inner(character: str) -> bool:
    """Return whether a character may be part of a label: letters, numbers and marks of all scripts, - and _."""
    return character in "-_" or unicodedata.category(character)[0] in "LNM"


def _unicode_label(label: str) -> str:
    """Decode a label in Punycode, if it encodes what a browser would encode in this way."""
    if not label.startswith(_PUNYCODE):
        return label
    try:
        decoded = label[len(_PUNYCODE) :].encode("ascii").decode("punycode")
        same = decoded.encode("punycode").decode() == label[len(_PUNYCODE) :]
    except (UnicodeError, ValueError, OverflowError):
        return label
    normal = unicodedata.normalize("NFKC", decoded).lower() == decoded
    return decoded if same and normal and not decoded.isascii() and _is_label(decoded) else label


# -- reading a text ----------------------------------------------------------------------------------------------------


def _readings(text: str) -> set[str]:
    """Return a text as different programs read it: as it is or normalized, without invisible characters or cut there.

    An underscore is part of a host for some, and the end of it for others.
    """
    if text.isascii():
        lower = text.lower()
        return {lower, lower.replace("_", " ")}
    found = set()
    for form in (text, unicodedata.normalize("NFKC", text)):
        lower = _STOPS.sub(".", form.lower())
        found.add("".join(c for c in lower if not _is_invisible(c)))
        found.add("".join(" " if c == "_" or _is_invisible(c) else c for c in lower))
    return found


def _is_invisible(character: str) -> bool:
    """Return whether a character has no width: format characters, variation selectors, fillers."""
    if character.isascii():
        return False
    return (
        unicodedata.category(character) == "Cf"
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
        or character in "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
    )


def _hosts(text: str) -> Iterator[str]:
    for match in _SCHEME.finditer(text):
        if host := _authority_host(match[1]):
            yield host
    spaced = "".join(c if c == "." or _is_inner(c) else " " for c in text)
    for token in spaced.split():
        for part in (part for run in _EMPTY.split(token) for part in (run, *_HYPHENS.split(run))):
            if bare := _bare_host(part.strip(".-")):
                yield bare


def _authority_host(authority: str) -> str:
    """Return the host of `user:password@host:port`; what is no host name is returned as it is, so that it counts."""
    address = unquote(authority).replace("\u3002", ".").replace("\uff61", ".").lower().rpartition("@")[2]
    if address.startswith("[") and "]" in address:
        return address[: address.index("]") + 1]
    host = whole = address.partition(":")[0]
    while host and host[-1] not in "-_" and unicodedata.category(host[-1])[0] not in "LNM":  # the end of a sentence
        host = host[:-1]
    return normal_host(host) or host or whole


def _bare_host(text: str) -> str | None:
    """Return the host that a word without a scheme names: what ends with a top-level domain, or an address."""
    labels = text.split(".")
    if len(labels) < 2:
        return None
    if len(labels) == 4 and all(map(_is_byte, labels)):
        return text
    if len(labels) == 2 and labels[1] in _FILES:
        return None
    last = next((i for i in range(len(labels) - 1, 0, -1) if _may_be_top(labels[i])), 0)
    if not last:
        return None
    host = ".".join(labels[: last + 1])
    return normal_host(host) or host


def _is_byte(label: str) -> bool:
    """Return whether a label is a part of an IPv4 address, in decimal or hexadecimal."""
    return _NUMBER.fullmatch(label) is not None and (not label.isdigit() or int(label) <= 255)


def _may_be_top(label: str) -> bool:
    """Return whether a label may be a top-level domain: at least two letters, or Punycode."""
    if label.startswith(_PUNYCODE):
        return True
    return len(label) >= 2 and all(unicodedata.category(character)[0] in "LM" for character in label)
