"""One rule for headers that are sent several times, before anything reads them."""

from gatepost.model.errors import BadRequest

Headers = list[tuple[bytes, bytes]]
# Headers with one value that decides something. Of two, we might read the one and a proxy in front of us the other.
_ONCE = frozenset(
    {
        b"authorization",
        b"content-type",
        b"gatepost-channel",
        b"gatepost-csrf",
        b"host",
        b"idempotency-key",
        b"last-event-id",
        b"origin",
        b"range",
        b"x-hub-signature-256",
    }
)


def check_once(headers: Headers) -> BadRequest | None:
    """Return the error of a request that has several lines of a header with one value; None if it has not."""
    if len(dict(headers)) == len(headers):
        return None
    names = [name for name, _ in headers if name in _ONCE]
    twice = next((name.decode() for name in names if names.count(name) > 1), None)
    return BadRequest(f"Send the header {twice} only once.", "malformed_request") if twice else None


def each_once(headers: Headers) -> Headers:
    """Return a copy of the headers with each name once: the values of several lines are a list (RFC 9110, 5.3)."""
    joined = dict(headers)
    if len(joined) == len(headers):
        return headers.copy()
    joined.clear()
    for name, value in headers:
        separator = b"; " if name == b"cookie" else b", "
        joined[name] = joined[name] + separator + value if name in joined else value
    return list(joined.items())
