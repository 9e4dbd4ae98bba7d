"""`python -m gatepost.cli.serve_process NUMBER DESCRIPTOR`: one process of `gatepost serve --processes`.

Only its supervisor starts it. The number is for lists of processes; the descriptor is its control connection.
"""

import asyncio
import socket
import sys

import uvloop

from gatepost.cli.output import failing
from gatepost.processes.gateway_process import serve_process
from gatepost.start_errors import CannotGoOn, CannotStart


def main() -> None:
    """Run the process until it is stopped."""
    with failing(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(serve_process(socket.socket(fileno=int(sys.argv[2]))))
        except (CannotStart, CannotGoOn) as error:
            raise OSError(str(error)) from None


if __name__ == "__main__":
    main()
