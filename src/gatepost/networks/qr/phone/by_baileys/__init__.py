"""The engine Baileys: a library for Node, in a process below this one.

this process ── requests, answers ──► bridge.mjs ─► the library ─► the network
      ▲                                  │
      ╰── keys, messages, news ◄─────────╯

It sends under ids that we choose, tells of labels and of the items of orders, and acknowledges a message to the network
only once the gateway has it. `package.json` names its parts; `gatepost qr install` fetches them.
"""
