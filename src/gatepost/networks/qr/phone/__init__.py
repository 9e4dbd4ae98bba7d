"""The driver of links to real phones. It runs as a separate process: `python -m gatepost.networks.qr.phone FD`.

FD (frames as lines) ─► server ─► session ─► an engine ─► the network
                          ▲         ▲                │ events
                          ╰─────────┴─ translate_* ◄─╯

by_neonize/   a native library in this process
by_baileys/   a Node library in a child process

Code outside this folder does not need either library.
"""
