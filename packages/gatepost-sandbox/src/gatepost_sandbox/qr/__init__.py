"""The QR network: phones that are linked by scanning a code, and the WebSocket that holds their links."""

from gatepost_sandbox.qr.link import serve_link
from gatepost_sandbox.qr.network import QrNetwork

__all__ = ["QrNetwork", "serve_link"]
