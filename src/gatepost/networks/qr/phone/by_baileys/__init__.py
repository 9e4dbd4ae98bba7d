"""The engine Baileys: a Node library in a child process.

this process ── requests, answers ──► bridge.mjs ─► the library ─► the network
      ▲                                  │
      ╰── keys, messages, events ◄───────╯

It sends with ids that we choose, reports labels and the items of orders, and acknowledges a message to the network only
after the gateway has stored it. `package.json` lists its packages; `gatepost qr install` installs them.
"""
