"""What a business may post to /messages: each type is parsed and validated here.

envelope ─► kinds ─► text · media · location · contacts · reaction · interactive/ · template/      (the form alone)
                                                   then, against what the network keeps: media ids, templates
"""

from gatepost_sandbox.messages.envelope import MarkRead, Send, normalise_phone, read_payload

__all__ = ["MarkRead", "Send", "normalise_phone", "read_payload"]
