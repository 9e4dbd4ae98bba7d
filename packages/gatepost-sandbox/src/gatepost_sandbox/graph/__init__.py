"""The network's own door, /vN.0/…: everything a client of the Cloud API may ask."""

from gatepost_sandbox.graph.asgi import TRANSPORT, Receive, Scope, Send
from gatepost_sandbox.graph.call import root_of
from gatepost_sandbox.graph.serve import serve_graph

__all__ = ["TRANSPORT", "Receive", "Scope", "Send", "root_of", "serve_graph"]
