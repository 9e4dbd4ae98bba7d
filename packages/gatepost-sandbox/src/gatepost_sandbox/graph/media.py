"""Files: uploading, looking up, downloading, deleting."""

from gatepost_sandbox.errors import Refusal, bad_token, parameter, unknown_object
from gatepost_sandbox.graph.access import holders
from gatepost_sandbox.graph.call import SUCCESS, Call, File, Raw, Result, read_params
from gatepost_sandbox.media import MAX_BY_TYPE, Stored, bare_type, largest
from gatepost_sandbox.network import Network
from gatepost_sandbox.numbers import Number

_VAGUE = ("", "application/octet-stream")


def upload(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/media."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    if params.get("messaging_product") != "whatsapp":
        return parameter("The parameter messaging_product is required.")
    file = params.get("file")
    if not isinstance(file, File):
        return parameter("The parameter file is required.")
    mime_type = str(params.get("type") or "") if bare_type(file.mime_type) in _VAGUE else file.mime_type
    refusal = check_file(mime_type, file.content)
    if refusal is not None:
        return refusal
    now = network.clock.now()
    stored = network.media.put(number.id, file.content, mime_type, file.filename, now, incoming=False)
    return {"id": stored.id}


def check_file(mime_type: str, content: bytes) -> Refusal | None:
    """Return whether the network accepts a file of this type and size."""
    most = largest(mime_type, content)
    if most is None:
        taken = ", ".join(MAX_BY_TYPE)
        return parameter(f"Param file must be a file with one of the types {taken}. Received {mime_type[:64]!r}.")
    if not content:
        return Refusal(131053, details="The file is empty.")
    if len(content) > most:
        return Refusal(131053, details=f"A file of type {bare_type(mime_type)} has at most {most} bytes.")
    return None


def show(network: Network, stored: Stored, call: Call) -> Result:
    """GET /{media}: its download URL for the next five minutes."""
    refusal = check_owner(stored, call)
    return refusal or {
        "messaging_product": "whatsapp",
        "url": network.media.url(stored, network.clock.now(), call.root),
        "mime_type": stored.mime_type,
        "sha256": stored.sha256,
        "file_size": stored.size,
        "id": stored.id,
    }


def delete(network: Network, stored: Stored, call: Call) -> Result:
    """DELETE /{media}."""
    refusal = check_owner(stored, call)
    if refusal is None:
        network.media.remove(stored.id)
    return refusal or SUCCESS


def check_owner(stored: Stored, call: Call) -> Refusal | None:
    """Check that the number in the request owns the file."""
    named = call.query.get("phone_number_id", stored.phone_number_id)
    return None if named == stored.phone_number_id else unknown_object(call.method, stored.id)


def download(network: Network, call: Call) -> Result:
    """GET of a download URL; it needs the token too."""
    held = holders(network, call.token)
    if isinstance(held, Refusal):
        return held
    stored = network.media.open_url(call.query, network.clock.now())
    if stored is None:
        return Refusal(100, status=404, message="The address of this file has expired or never existed.")
    owner = network.numbers.get(stored.phone_number_id)
    if owner is None or all(owner.spec.waba_id != number.spec.waba_id for number in held):
        return bad_token("The token does not open this file.")
    return Raw(stored.content, stored.mime_type)
