"""The network API, /vN.0/…: the Cloud API."""

from gatepost_sandbox.graph.asgi import TRANSPORT, Receive, Scope, Send
from gatepost_sandbox.graph.call import root_of
from gatepost_sandbox.graph.serve import serve_graph

__all__ = ["TRANSPORT", "Receive", "Scope", "Send", "root_of", "serve_graph"]
