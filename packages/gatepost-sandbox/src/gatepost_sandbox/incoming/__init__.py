"""Messages from people to a business, and their replies to its messages.

control API ─► read ──┐
                      ├─► compose (the network's JSON) ─► deliver ─► ledger, window, callback
script ─► replies ────┘
"""

from gatepost_sandbox.incoming.deliver import deliver_incoming, plan_reply
from gatepost_sandbox.incoming.read import Incoming, read_incoming

__all__ = ["Incoming", "deliver_incoming", "plan_reply", "read_incoming"]
