"""A port that several processes listen on.

On Linux, each process has its own socket of the port (SO_REUSEPORT), and the kernel spreads the connections. The
supervisor binds all of them, because the port may need root; the processes listen. A socket stays bound when its
process ends, for the next one: it must stop listening meanwhile, or connections would wait in its queue.
Elsewhere (macOS gives all connections to one of such sockets), the processes share one listening socket.
"""

import contextlib
import socket
import sys

from gatepost.settings import ServerSettings
from gatepost.start_errors import cannot_listen

_BACKLOG = 2048


def own_sockets() -> bool:
    """Return whether each process has its own socket of the port."""
    return sys.platform == "linux" and hasattr(socket, "SO_REUSEPORT")


class SharedPort:
    """The sockets of a port: one for a single process, or one for each of several."""

    def __init__(self, server: ServerSettings, processes: int) -> None:
        try:
            self.sockets = _bind_all(server, processes)
        except OSError as error:
            raise cannot_listen(server.host, server.port, error) from None
        self.processes = processes

    @property
    def listener(self) -> socket.socket:
        """The socket of a single process; of several, one that tells the address."""
        return self.sockets[0]

    def socket_of(self, number: int) -> socket.socket:
        """Return the socket of a process, counted from 1."""
        return self.sockets[number if len(self.sockets) > 1 else 0]

    def close(self) -> None:
        """Give the port back."""
        for one in self.sockets:
            one.close()


def bind_alone(server: ServerSettings) -> socket.socket:
    """Bind the port. The process listens when it is ready: clients would wait for one that is still starting.

    Until then, nobody else can bind the port either.
    """
    bound = _bind(server, server.port, shared=False)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    return bound


def _bind_all(server: ServerSettings, processes: int) -> list[socket.socket]:
    if processes == 1:
        return [bind_alone(server)]
    if not own_sockets():
        return [socket.create_server((server.host, server.port), family=_family(server), backlog=_BACKLOG)]
    return _bind_each(server, processes)


def _bind_each(server: ServerSettings, processes: int) -> list[socket.socket]:
    """Bind a socket per process. The first one only reserves the port, which the kernel may have chosen."""
    bound = [bind_alone(server)]
    try:
        bound[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        port = bound[0].getsockname()[1]
        bound += [_bind(server, port) for _ in range(processes)]
    except OSError:
        for one in bound:
            one.close()
        raise
    return bound


def _bind(server: ServerSettings, port: int, *, shared: bool = True) -> socket.socket:
    bound = socket.socket(_family(server))
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared)
        if bound.family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((server.host, port))
    except OSError:
        bound.close()
        raise
    return bound


def _family(server: ServerSettings) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in server.host else socket.AF_INET


def stop_listening(bound: socket.socket) -> None:
    """Stop listening on a process's own socket, which stays bound. Clients in its queue see a reset connection.

    A socket that does not listen is left alone: after a second `shutdown`, all connections that it accepts later
    would be closed for reading.
    """
    if own_sockets() and bound.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        with contextlib.suppress(OSError):  # another process was faster
            bound.shutdown(socket.SHUT_RDWR)
