"""The network API, /vN.0/…

POST /{number}/messages ─► network             (the fast path)
everything else ─► object ─► token ─► hourly limit ─► operation ─► JSON, bytes or a refusal
"""

import re
from collections.abc import Awaitable

import msgspec

from gatepost_sandbox.errors import Refusal, parameter, refusal_body, unknown_object
from gatepost_sandbox.graph.access import Target, find_target
from gatepost_sandbox.graph.asgi import JSON, Receive, Scope, Send, read_body, send_answer, write
from gatepost_sandbox.graph.call import SCHEMES, Call, Outcome, Raw, read_call
from gatepost_sandbox.graph.messages import post_marketing, post_message
from gatepost_sandbox.graph.routes import find_open, find_operation
from gatepost_sandbox.network import Answer, Network
from gatepost_sandbox.numbers import Number

_VERSION = re.compile(r"v[0-9]+\.[0-9]+\Z")
_SENDING = {"messages": post_message, "marketing_messages": post_marketing}
_TOO_LARGE = parameter("The request is too large.")
_TOO_MANY = Refusal(80008, details="There were too many calls to this business account within an hour.")


async def serve_graph(network: Network, scope: Scope, receive: Receive, send: Send) -> None:
    """Handle one request to the network."""
    body = await read_body(receive)
    if body is None:
        await write(send, 413, JSON, refusal_body(_TOO_LARGE, ""), "")
        return
    request_id = network.next_request_id()
    parts = scope["path"].split("/")[1:]
    if parts and _VERSION.match(parts[0]):
        del parts[0]
    number = find_sender(network, scope, parts)
    if number is not None:
        if network.clock.recorder is not None:
            network.clock.begin()
            network.clock.record("send", number.id, parts[1], body, request_id)
        await send_answer(network, receive_message(network, number, parts[1], body, request_id), scope, receive, send)
        return
    result = await run_call(network, read_call(scope, parts, body), request_id)
    if isinstance(result, Raw):
        await write(send, 200, result.mime_type.encode(), result.content, request_id)
    else:
        await send_answer(network, result, scope, receive, send)


def receive_message(network: Network, number: Number, edge: str, body: bytes, request_id: str) -> Answer:
    """Accept or refuse a message of a number."""
    return _SENDING[edge](network, number, body, request_id)


async def run_call(network: Network, call: Call, request_id: str) -> Answer | Raw:
    """Run any request but a send."""
    body = await network.keep_body(call.body)
    network.clock.begin()
    network.media.root = call.root
    outcome = operate(network, call)
    result = await outcome if isinstance(outcome, Awaitable) else outcome
    # An operation that waits (for the handshake of a callback address) changes the network after the wait.
    if network.clock.recorder is not None:
        done = not isinstance(result, Refusal)
        network.clock.record("call", msgspec.structs.replace(call, body=b""), body, request_id, done)
    if call.method != "GET":
        network.watch.changed("templates" if "template" in call.path else "numbers")
    if isinstance(result, Refusal):
        return network.refuse(call.object_id, result, request_id)
    return result if isinstance(result, Raw) else Answer(200, msgspec.json.encode(result), request_id)


def find_sender(network: Network, scope: Scope, parts: list[str]) -> Number | None:
    """Return the number of a send request with a valid token; None for any other request."""
    if len(parts) != 2 or scope["method"] != "POST" or parts[1] not in _SENDING:
        return None
    number = network.numbers.get(parts[0])
    if number is None:
        return None
    if scope["query_string"]:  # it may have the token, or a proof of the app secret
        call = read_call(scope, parts, b"")
        target = find_target(network, call) if call.token == number.spec.token else None
        return number if isinstance(target, Target) and target.thing is number else None
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, token = value.decode("latin-1").partition(" ")
            return number if token.strip() == number.spec.token and scheme.lower() in SCHEMES else None
    return None


def operate(network: Network, call: Call) -> Outcome:
    """Find the object and the operation of a request, and run it."""
    path = "/".join(filter(None, (call.object_id, call.path)))
    free = find_open(call.method, path)
    if free is not None:
        return free(network, call)
    target = find_target(network, call)
    if isinstance(target, Refusal):
        return target
    operation = find_operation(target.kind, call.method, call.path)
    if operation is None:
        return unknown_object(call.method, path)
    return operation(network, target.thing, call) if within_limit(network, target, call) else _TOO_MANY


def within_limit(network: Network, target: Target, call: Call) -> bool:
    """Count a call against the account's hourly limit, except for files and profiles; return whether it is allowed."""
    if target.waba_id is None or (target.kind == "number" and call.path):
        return True
    return network.accounts.take_call(target.waba_id, network.clock.now(), network.settings.management.calls_per_hour)
