"""People who sign in: a browser with a session, as tests use it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import msgspec

from gatepost.admin import users
from gatepost.store.users import User
from tests.running_gateway import Answer, Gateway

SESSION = "/api/v1/session"
PASSWORD = "correct horse battery"


class Person(msgspec.Struct):
    """A person with a browser: its cookie, and what the last sign-in said."""

    gateway: Gateway
    user: User
    cookie: str = ""
    csrf: str = ""
    channel: str | None = None

    async def sign_in(self, password: str = PASSWORD, code: str | None = None, **headers: str) -> Answer:
        """Sign in, and keep the cookie if it works."""
        body = {"email": self.user.email, "password": password} | ({"code": code} if code else {})
        return self.keep(await post_session(self.gateway, body, headers))

    def keep(self, answer: Answer) -> Answer:
        """Keep the cookie and the CSRF token of an answer that has them."""
        if answer.status < 300 and "set-cookie" in answer.headers:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
            self.csrf = answer.json()["data"].get("csrf_token", "")
        return answer

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str | None] = {},
        raw: bytes | None = None,
    ) -> Answer:
        """Send a request as a page of the gateway does. A header that is None is left out."""
        sent: dict[str, str | None] = {"cookie": self.cookie}
        if self.channel:
            sent["gatepost-channel"] = self.channel
        if method not in ("GET", "HEAD"):
            sent |= {"gatepost-csrf": self.csrf, "origin": self.gateway.url}
        sent |= headers
        given = {name: value for name, value in sent.items() if value is not None}
        return await self.gateway.call(method, path, body, key="", headers=given, raw=raw)


async def post_session(gateway: Gateway, body: Any, headers: Mapping[str, str] = {}) -> Answer:
    return await gateway.call("POST", SESSION, body, key="", headers={"origin": gateway.url} | dict(headers))


async def new_person(
    gateway: Gateway,
    role: str = "owner",
    *,
    name: str = "",
    email: str = "",
    account_id: UUID | None = None,
    signed_in: bool = True,
) -> Person:
    """Create a user, who signs in and looks at the gateway's channel."""
    made = await users.create_user(
        gateway.db,
        account_id or gateway.account_id,
        email or f"{role}-{uuid4().hex[:12]}@example.com",
        role=role,
        name=name,
        password=PASSWORD,
        now=gateway.clock.now(),
    )
    person = Person(gateway, made.user, channel=gateway.channel)
    if signed_in:
        answer = await person.sign_in()
        assert answer.status == 201, answer.body
    return person
