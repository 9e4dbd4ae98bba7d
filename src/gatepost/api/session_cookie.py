"""The cookie with the token of a session."""

from datetime import timedelta

NAME = "gatepost_session"
SECURE_NAME = f"__Host-{NAME}"  # browsers accept it only over https, and from no other host


class SessionCookie:
    """The cookie of this gateway: `secure` if its public address is https."""

    def __init__(self, *, secure: bool) -> None:
        self.name = SECURE_NAME if secure else NAME
        self._flags = "Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if secure else "")

    def token_in(self, header: str | None) -> str | None:
        """Return the token in a Cookie header; None if there is none."""
        if header is None:
            return None
        for part in header.split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.name:
                return value or None
        return None

    def set(self, token: str, lifetime: timedelta) -> str:
        """Return the header that stores a token."""
        return f"{self.name}={token}; Max-Age={int(lifetime.total_seconds())}; {self._flags}"

    def clear(self) -> str:
        """Return the header that removes the cookie."""
        return f"{self.name}=; Max-Age=0; {self._flags}"
