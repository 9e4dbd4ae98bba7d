"""Passwords: argon2id, computed in few threads with a bounded queue.

One computation takes 64 MiB and some ten milliseconds of several cores. Therefore an attacker who tries many passwords
gets `overloaded`, and neither fills the memory nor the threads that other work needs.
"""

import asyncio
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from gatepost.model.errors import Unavailable, invalid_field
from gatepost.model.field_readers import check_storable

T = TypeVar("T")
PASSWORD_MIN, PASSWORD_MAX = 10, 200
AT_ONCE, WAITING = 2, 20  # computations in a process
# Verified for an unknown address, which must take as long as a wrong password. Nobody knows the password of it.
DUMMY_HASH = "$argon2id$v=19$m=65536,t=3,p=4$8S8YHX9jzaad42VWDesDsw$8ouf2j7qMVUmQJWYWCuiuaGAbeSMHTu6sL8EkHZSO2s"
_hasher = PasswordHasher()
_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="passwords")


def check_password(password: str, field: str = "password") -> str:
    """Check a new password."""
    if not PASSWORD_MIN <= len(password) <= PASSWORD_MAX:
        raise invalid_field(field, f"must have {PASSWORD_MIN} to {PASSWORD_MAX} characters")
    check_storable(field, password)
    return password


def new_password() -> str:
    return secrets.token_urlsafe(15)


class _Queue:
    """Runs computations in the threads, and rejects those that would wait too long."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    async def run(self, function: Callable[..., T], *arguments: str) -> T:
        with self._lock:
            if self._count >= AT_ONCE + WAITING:
                raise Unavailable("Too many passwords are being checked. Try again shortly.", retry_after=1)
            self._count += 1
        return await asyncio.get_running_loop().run_in_executor(_threads, self._counted, function, *arguments)

    def _counted(self, function: Callable[..., T], *arguments: str) -> T:
        """Run in a thread, which goes on when the request that waits for it is cancelled."""
        try:
            return function(*arguments)
        finally:
            with self._lock:
                self._count -= 1


_queue = _Queue()


async def hash_password(password: str) -> str:
    """Return the hash of a password."""
    return await _queue.run(_hasher.hash, password)


async def verify_password(password_hash: str, password: str) -> bool:
    """Return whether a password is correct. Without a hash it is not, after the same time."""
    return await _queue.run(_verify, password_hash or DUMMY_HASH, password)


def _verify(password_hash: str, password: str) -> bool:
    try:
        return _hasher.verify(password_hash, password[: PASSWORD_MAX + 1])
    except (VerificationError, InvalidHashError, UnicodeEncodeError):
        return False
