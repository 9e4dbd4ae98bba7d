"""The page `docs/reference/network-errors.md`, generated from the table of errors."""

from gatepost.networks.cloud.errors import entries

_HEAD = """# Errors of the official network

When the network rejects a message, `error.code`, `error.title` and `error.details` come from the network, and
`error.advice` comes from the gateway. The column "reaction" says what the gateway does:

| reaction | effect |
|---|---|
| `final` | the message fails; it is not retried |
| `retry` | the message is retried after a backoff |
| `hold_recipient` | sending to this recipient pauses; other conversations are not affected |
| `hold_channel` | sending on the channel pauses |
| `hold_new` | no new conversations are opened for a while; replies are still sent |
| `break` | sending stops until the problem is fixed; messages stay in the queue until their `ttl` ends |

A message that the network accepted and that failed later is not retried, whatever its code: its advice says what to do.
If the code is a `break`, the number pauses for 15 minutes; then one message is sent to check whether it works again.
If it is a `hold_new`, the same holds for messages that open a conversation; replies are still sent.

A code that is not listed is final with HTTP 4xx. It is retried with 5xx or 429, or if the network marks the error as
`is_transient`.

| code | meaning | reaction | advice |
|---|---|---|---|
"""


def network_errors_page() -> str:
    """Return the page with a row for each error."""
    return _HEAD + "".join(
        f"| {entry.codes} | {entry.title} | `{entry.reaction.value}` | {entry.advice} |\n" for entry in entries()
    )
