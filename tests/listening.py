"""How the asyncio servers of tests stop listening."""

import asyncio


async def stop_listening(*servers: asyncio.Server) -> None:
    """Close servers, and leave the connections that they have accepted open.

    A connection that asyncio accepts in the turn of the loop in which its server is closed is forgotten: nothing
    closes it, until the garbage collector warns of it during some later test. So here nothing is accepted any more
    before the servers are closed.
    """
    loop = asyncio.get_running_loop()
    for listener in (listener for server in servers for listener in server.sockets):
        loop.remove_reader(listener.fileno())
    await asyncio.sleep(0)
    for server in servers:
        server.close()
