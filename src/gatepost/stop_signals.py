"""The signals that stop a gateway: SIGTERM, Ctrl-C, and the end of its terminal."""

import asyncio
import signal
from collections.abc import Callable


def stop_on_signals(stop: Callable[[], object]) -> None:
    """Call `stop` at each of these signals, instead of what was called before.

    The end of the terminal is ignored if it was ignored at the start, as `nohup` asks for.
    """
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if name != signal.SIGHUP or signal.getsignal(name) is not signal.SIG_IGN:
            loop.add_signal_handler(name, stop)
