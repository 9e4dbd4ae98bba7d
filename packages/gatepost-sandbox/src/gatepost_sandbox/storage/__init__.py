"""The sandbox on disk: a snapshot of the network, and a log of every input since.

input ─► log (written before the answer) ─► network          start: newest snapshot ─► replay its log ─► snapshot
                                                             log too long: snapshot, new log

The network is deterministic: given the same inputs at the same times it draws the same ids and plans the same timers.
So the log holds inputs only: requests, frames, timers that fired, outcomes of callbacks.
"""

from gatepost_sandbox.storage.folder import Folder, FolderInUse, wait_until_free
from gatepost_sandbox.storage.restore import restore

__all__ = ["Folder", "FolderInUse", "restore", "wait_until_free"]
