"""The driver of links to real phones, run in a process of its own: `python -m gatepost.networks.qr.phone FD`.

FD (frames as lines) ─► serve ─► session ─► an engine ─► the network
                          ▲         ▲           │ its events
                          ╰─────────┴─ translate_* ◄─╯

by_neonize/   a native library inside of this process
by_baileys/   a library for Node, in a process below this one

Nothing outside of this folder needs either library to be installed.
"""
