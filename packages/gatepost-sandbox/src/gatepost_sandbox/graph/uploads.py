"""Resumable uploads: /{app}/uploads and /upload:…"""

from gatepost_sandbox.errors import Refusal, parameter, unknown_object
from gatepost_sandbox.graph.call import Call, Raw, Result
from gatepost_sandbox.graph.select import whole_number
from gatepost_sandbox.network import Network

PICTURES = "uploads/"


def begin(network: Network, _: str, call: Call) -> Result:
    """POST /{app}/uploads."""
    length, kind = whole_number(call.query.get("file_length", "")), call.query.get("file_type", "")
    if not length:
        return parameter("The parameter file_length is required.")
    if not kind:
        return parameter("The parameter file_type is required.")
    return {"id": network.uploads.begin(length, kind)}


def add(network: Network, session_id: str, call: Call) -> Result:
    """POST /upload:…: a chunk of the file, from the given offset."""
    session = network.uploads.find(session_id)
    if session is None:
        return unknown_object(call.method, session_id)
    offset = call.headers.get("file_offset", "")
    if offset != str(len(session.content)):
        return parameter(f"The header file_offset must be {len(session.content)} - got {offset[:32]!r}.")
    if len(session.content) + len(call.body) > session.length:
        return parameter(f"The file has more than the {session.length} bytes it was to have.")
    handle = network.uploads.add(session_id, call.body)
    return {"h": handle} if handle else {"id": session_id, "file_offset": len(session.content)}


def show(network: Network, session_id: str, call: Call) -> Result:
    """GET /upload:…: the bytes received so far."""
    session = network.uploads.find(session_id)
    if session is None:
        return unknown_object(call.method, session_id)
    return {"id": session_id, "file_offset": len(session.content)}


def fetch(network: Network, call: Call) -> Result:
    """Return an uploaded file, such as a profile picture, which is public."""
    session = network.uploads.finished.get(call.query.get("h", ""))
    if session is None:
        return Refusal(100, status=404, message="There is no such file.")
    return Raw(session.content, session.mime_type)
