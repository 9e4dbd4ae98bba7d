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


def each_once(headers: Headers) -> tuple[Headers, BadRequest | None]:
    """Return a copy of the headers with each name once: the values of several lines are a list (RFC 9110, 5.3).

    Also return the error of a request that has several lines of a header with one value; None if it has not.
    """
    joined = dict(headers)
    if len(joined) == len(headers):
        return headers.copy(), None
    joined.clear()
    refusal = None
    for name, value in headers:
        if name in joined and name in _ONCE:
            refusal = BadRequest(f"Send the header {name.decode()} only once.", "malformed_request")
        separator = b"; " if name == b"cookie" else b", "
        joined[name] = joined[name] + separator + value if name in joined else value
    return list(joined.items()), refusal
