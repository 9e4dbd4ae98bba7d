"""What people send to a business, and what they do when the business writes to them.

control door ─► read ─┐
                      ├─► compose (the network's own JSON) ─► arrive ─► ledger, window, callback
script ─► react ──────┘
"""

from gatepost_sandbox.incoming.deliver import deliver_incoming, plan_reply
from gatepost_sandbox.incoming.read import Incoming, read_incoming

__all__ = ["Incoming", "deliver_incoming", "plan_reply", "read_incoming"]
