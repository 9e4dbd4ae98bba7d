"""Parses and validates the messages that a business posts to /messages.

envelope ─► kinds ─► text · media · location · contacts · reaction · interactive/ · template/      (the form alone)
                                                   then, against what the network keeps: media ids, templates
"""

from gatepost_sandbox.messages.envelope import MarkRead, Send, normalise_phone, read_payload

__all__ = ["MarkRead", "Send", "normalise_phone", "read_payload"]
