"""POST /{number}/messages and /{number}/marketing_messages."""

from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.messages import MarkRead, read_payload
from gatepost_sandbox.messages import Send as SendMessage
from gatepost_sandbox.network import Answer, Network
from gatepost_sandbox.numbers import Number


def post_message(network: Network, number: Number, body: bytes, request_id: str) -> Answer:
    """Handle a message or a read mark."""
    payload = read_payload(body)
    if isinstance(payload, SendMessage):
        return network.receive_send(number, payload, request_id)
    if isinstance(payload, MarkRead):
        return network.receive_mark(number, payload, request_id)
    return network.refuse(number.id, payload, request_id)


def post_marketing(network: Network, number: Number, body: bytes, request_id: str) -> Answer:
    """Handle a message of a marketing template; refuse others."""
    payload = read_payload(body)
    if not isinstance(payload, SendMessage) or payload.type != "template":
        refusal = (
            payload if isinstance(payload, Refusal) else Refusal(131055, details="Only templates can be sent here.")
        )
        return network.refuse(number.id, refusal, request_id)
    name, language = payload.content.get("name"), payload.content.get("language", {}).get("code")
    template = network.templates.find(number.spec.waba_id, str(name), str(language))
    if template is not None and template.category != "MARKETING":
        refusal = Refusal(134100, details="Only templates of the category MARKETING can be sent here.")
        return network.refuse(number.id, refusal, request_id, payload.to)
    return network.receive_send(number, payload, request_id)
