"""The driver of links around neonize, run in a process of its own: `python -m gatepost.networks.qr.neonize_driver FD`.

FD (frames as lines) ─► serve ─► session ─► native ─► the library ─► the network
                          ▲         ▲                     │ its events
                          ╰─────────┴── translate_* ◄─────╯

Nothing outside of this folder needs the library to be installed.
"""
