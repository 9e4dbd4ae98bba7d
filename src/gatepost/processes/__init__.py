"""Several processes that are one gateway: `gatepost serve --processes N`.

    supervisor ── embedded PostgreSQL, migrations, the port; no requests and no channels
      │ control connection: settings, readiness, metrics
      ├─► process 1   a complete gateway of the given role: API, owner of channels, housekeeping
      ├─► process 2   the same; they share the database as several nodes do
      └─► process N

Each process listens on the same port with its own socket (`port`); the kernel spreads the connections. The supervisor
starts a process again when it ends (`process_slot`), stops all at the end, and adds up their metrics. A process ends
when its control connection closes, which also happens when the supervisor is killed. With one process there is no
supervisor, and none of this is loaded.
"""
