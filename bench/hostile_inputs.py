"""The worst input of each kind that the gateway accepts, or has to parse before it rejects it."""

import hashlib
import hmac
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import msgspec

from bench.load import FIRST
from bench.tenant import NUMBER

BODY = 1024 * 1024  # server.body_limit
CALLBACK = 4 * 1024 * 1024  # server.callback_limit
EXPANDING = "\ufdfa"  # one character that becomes eighteen when it is normalised
PHONE = str(FIRST)
_numbers = count(1)


class Input(msgspec.Struct, frozen=True):
    """One request. Large bodies are created when they are needed."""

    name: str
    method: str
    path: str
    body: Callable[[], bytes] = bytes
    kind: str = "application/json"
    signed: bool = False


def json_bodies() -> Iterator[Input]:
    """Yield API bodies, up to `server.body_limit`."""
    for name, body in {
        "nested arrays": lambda: b'{"phone":' + b"[" * (BODY - 20),
        "nested objects": lambda: b'{"phone":"1","location":' + b'{"a":' * 170_000 + b"1" + b"}" * 170_000 + b"}",
        "a long number": lambda: b'{"phone":' + b"1" * (BODY - 20) + b"}",
        "a long text": lambda: _json({"phone": PHONE, "body": "é" * (BODY // 2 - 99)}),
        "many fields": lambda: b"{" + b",".join(b'"f%d":1' % i for i in range(80_000)) + b"}",
        "a long unknown field": lambda: b'{"' + b"f" * (BODY - 20) + b'":1}',
        "contacts, 257 cards": lambda: _json(_cards()),
    }.items():
        yield Input(f"send: {name}", "POST", "message/send", body)
    yield Input("send: 1,000 in a batch, texts", "POST", "messages/batch", lambda: _batch(_text_send))
    yield Input("send: 1,000 in a batch, all refused", "POST", "messages/batch", lambda: _batch(lambda i: {"phone": i}))
    yield Input("send: 1,000 in a batch, lists", "POST", "messages/batch", lambda: _batch(_list_send))
    yield Input(
        "send: 500,000 items in a batch", "POST", "messages/batch", lambda: b'{"messages":[' + b"1," * 500_000 + b"1]}"
    )
    fields = lambda: _json({"phone": "5511999990001", "custom": {f"f{i}": "x" for i in range(60_000)}})  # noqa: E731
    yield Input("contact: 60,000 fields", "POST", "contacts", fields)
    yield Input("contacts to check: 60,000", "POST", "contacts/check", lambda: _json({"phones": [PHONE] * 60_000}))
    yield Input("deliveries to retry: 200,000", "POST", "deliveries/retry", lambda: _json({"ids": ["x"] * 200_000}))
    yield Input("label: a long name", "POST", "labels", lambda: _json({"name": EXPANDING * 300_000}))
    yield Input("webhook: a long address", "POST", "webhooks", lambda: _json({"url": "http://" + "a." * 500_000}))
    yield Input("webhook: many headers", "POST", "webhooks", lambda: _json(_headers()))


def templates() -> Iterator[Input]:
    """Yield templates, whose texts the gateway searches for variables."""
    for name, body in {
        "braces": "{{" * 500_000,
        "variables": "{{1}}" * 200_000,
        "spaces": " " * 1_000_000 + "x",
        "line breaks": "\n" * 500_000,
    }.items():
        yield Input(f"template: a text of {name}", "POST", "templates", lambda body=body: _template(body))  # type: ignore[misc]
    nested = b'{"name":"a","language":"en","category":"UTILITY","components":' + b'[{"components":' * 60_000
    yield Input("template: nested components", "POST", "templates", lambda: nested + b"[]" + b"}]" * 60_000 + b"}")
    yield Input("template: 40,000 components", "POST", "templates", lambda: _json(_components()))


def questions(conversation: str) -> Iterator[Input]:
    """Yield queries, which find the texts that were sent before."""
    many = ",".join(["text"] * 5_000)
    for name, path in {
        "search by words": "messages?q=zzz&limit=100",
        "search by words, one letter": "messages?q=a&limit=100",
        "search by words of one person": f"messages?phone={PHONE}&q=zzz&limit=100",
        "search: a long query": "messages?q=" + "%EF%B7%BA" * 200,
        "page of the largest messages": "messages?limit=100",
        "page of one conversation": f"conversations/{conversation}/messages?limit=100",
        "page of conversations": "conversations?limit=100",
        "page of the largest events": "events?limit=100",
        "filter: a long list": f"messages?type={many}",
        "filter: a long number": "messages?phone=" + "1" * 30_000,
        "filter: a long date": "messages?from=" + "1" * 30_000,
        "filter: a long time zone": "messages?from=2026-01-01&tz=" + "a/" * 15_000,
        "a long cursor": "messages?cursor=" + "A" * 30_000,
        "5,000 parameters": "messages?" + "&".join(f"p{i}=1" for i in range(5_000)),
        "export, ndjson": "messages/export?format=ndjson",
        "export, csv": "messages/export?format=csv",
        "export by words": f"messages/export?phone={PHONE}&q=zzz",
        "contacts, csv": "contacts/export?format=csv",
    }.items():
        yield Input(name, "GET", path)


def tables() -> Iterator[Input]:
    """Yield tables of contacts, up to 64 MiB."""
    wide = "phone," + ",".join(f"f{i}" for i in range(20))
    row = ",".join(["é" * 150] * 20)
    for name, body in {
        "a header of 40,000 columns": lambda: b"phone" + b",a" * 40_000,
        "20 MB of blank lines": lambda: b"phone\n" + b"\n" * 20_000_000,
        "one line of 60 MB": lambda: b"phone\n" + b"x" * 60_000_000,
        "one cell of 20 MB of line breaks": lambda: b'phone\n"' + b"\n" * 20_000_000,
        "100,000 rows": lambda: b"phone\n" + b"".join(b"5511%09d\n" % i for i in range(100_000)),
        "5,000 rows of 20 long fields": lambda: _rows(wide, row, 5_000),
        "rows of 100,000 cells": lambda: b"phone\n" + (b"," * 100_000 + b"\n") * 200,
    }.items():
        yield Input(f"import: {name}", "POST", "contacts/import", body, kind="text/csv")


def checks(endpoint: str) -> Iterator[Input]:
    """Yield a delivery to verify, with a large body and many signatures."""
    headers = {"webhook-id": "evt_1", "webhook-timestamp": "1", "webhook-signature": " ".join(["v1,AAAA"] * 5_000)}
    body = lambda: _json({"headers": headers, "body": "é" * 400_000})  # noqa: E731
    yield Input("webhook: a delivery to verify", "POST", f"webhooks/{endpoint}/verify", body)


def uploads() -> Iterator[Input]:
    """Yield forms with large part headers, which are parsed."""
    form = "multipart/form-data; boundary=x"
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n'
    yield Input("upload: 4 MB of heads", "POST", "media", lambda: head + b"A: " + b"a" * 4_000_000, kind=form)
    yield Input("upload: 100,000 lines of heads", "POST", "media", lambda: head + b"A: a\r\n" * 100_000, kind=form)
    yield Input(
        "upload: 4 MB of boundaries", "POST", "media", lambda: head + b"\r\n" + b"\r\n--" * 1_000_000, kind=form
    )
    yield Input(
        "upload: a long name",
        "POST",
        "media",
        lambda: head.replace(b"a.txt", b"a" * 60_000) + b"\r\nx\r\n--x--\r\n",
        kind=form,
    )


def callbacks(channel: str) -> Iterator[Input]:
    """Yield signed callbacks of the official network, up to `server.callback_limit`."""
    deep = CALLBACK // 2 - 1000
    for name, body in {
        "20 of the longest texts": lambda: _callback([_message({"body": EXPANDING * 65_536}) for _ in range(20)]),
        "20 texts of marks": lambda: _callback([_message({"body": "a\u0301\u0316" * 21_000}) for _ in range(20)]),
        "10,000 short texts": lambda: _callback([_message({"body": "a"}) for _ in range(10_000)]),
        "10,000 statuses": lambda: _callback(statuses=[_status() for _ in range(10_000)]),
        "nested arrays": lambda: b'{"entry":' + b"[" * deep + b"]" * deep + b"}",
        "1,000,000 empty entries": lambda: b'{"entry":[' + b"{}," * 1_000_000 + b"{}]}",
        "a message of 1,000,000 lists": lambda: _callback_of(
            b'"type":"new","new":{"a":[' + b"[]," * 1_000_000 + b"[]]}"
        ),
        "an unknown message of 4 MB": lambda: _callback([_message({"text": "x" * 3_900_000}, "new")]),
        "20,000 contact cards": lambda: _callback([_message([{"name": {"formatted_name": "A"}}] * 60_000, "contacts")]),
        "an order of 30,000 lines": lambda: _callback([_order()]),
        "4 MB of escapes": lambda: _callback_of(b'"type":"text","text":{"body":"' + b"\\u0000" * 600_000 + b'"}'),
        "4 MB of digits": lambda: _callback_of(b'"type":"new","new":{"a":' + b"1" * 4_000_000 + b"}"),
        "a form's answer, JSON in JSON": lambda: _callback([_form()]),
    }.items():
        yield Input(f"callback: {name}", "POST", f"/callbacks/cloud/{channel}", body, signed=True)


def sign(body: bytes) -> str:
    """Return the signature of a callback."""
    return "sha256=" + hmac.digest(NUMBER["app_secret"].encode(), body, hashlib.sha256).hex()


def _rows(header: str, row: str, count: int) -> bytes:
    return "\n".join([header, *(f"5522{i:09d},{row}" for i in range(count))]).encode()


# -- parts of bodies ---------------------------------------------------------------------------------------------------


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _text_send(number: int) -> dict[str, Any]:
    return {"phone": str(FIRST + number), "body": EXPANDING * 280}


def _list_send(number: int) -> dict[str, Any]:
    rows = [{"id": str(i), "title": f"{i:024}"} for i in range(10)]
    sections = [{"title": "x", "rows": rows}]
    return {"phone": str(FIRST + number), "type": "list", "body": "x", "button": "b", "sections": sections}


def _batch(send: Callable[[int], dict[str, Any]]) -> bytes:
    return _json({"messages": [send(i) for i in range(1_000)]})


def _cards() -> dict[str, Any]:
    card = {"name": {"formatted_name": "é" * 200, "first_name": "x"}, "phones": [{"phone": "+1" + "2" * 15}] * 20}
    return {"phone": PHONE, "type": "contacts", "contacts": [card] * 257}


def _headers() -> dict[str, Any]:
    return {"url": "http://127.0.0.1:9/", "headers": {f"X-{i}": "x" for i in range(60_000)}}


def _template(text: str) -> bytes:
    parts = [{"type": "BODY", "text": text}]
    return _json({"name": f"t{next(_numbers)}", "language": "en", "category": "UTILITY", "components": parts})


def _components() -> dict[str, Any]:
    return {"name": "a", "language": "en", "category": "UTILITY", "components": [{"type": "BODY"}] * 40_000}


def _message(content: Any, type_: str = "text") -> dict[str, Any]:
    head = {"from": PHONE, "id": f"wamid.{next(_numbers)}.{time.time_ns()}", "timestamp": str(int(time.time()))}
    return {**head, "type": type_, type_: content}


def _status() -> dict[str, Any]:
    at = str(int(time.time()))
    return {"id": f"wamid.s{next(_numbers)}", "status": "delivered", "timestamp": at, "recipient_id": PHONE}


def _order() -> dict[str, Any]:
    line = {"product_retailer_id": "a", "quantity": 1, "item_price": 1.5, "currency": "USD"}
    return _message({"catalog_id": "1", "text": "", "product_items": [line] * 30_000}, "order")


def _form() -> dict[str, Any]:
    written = '{"a":[' + "[]," * 600_000 + "[]]}"
    return _message(
        {"type": "nfm_reply", "nfm_reply": {"name": "f", "body": "x", "response_json": written}}, "interactive"
    )


def _value(**more: Any) -> dict[str, Any]:
    people = [{"wa_id": PHONE, "profile": {"name": "A"}}]
    return {"metadata": {"phone_number_id": NUMBER["phone_number_id"]}, "contacts": people, **more}


def _callback(messages: list[Any] | None = None, statuses: list[Any] | None = None) -> bytes:
    value = _value(messages=messages or [], statuses=statuses or [])
    return _json({"entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}]})


def _callback_of(content: bytes) -> bytes:
    """Return a callback with one message of raw JSON."""
    head = _json(_message({}, "x")).split(b'"type"')[0]
    return _callback([0]).replace(b'"messages":[0]', b'"messages":[' + head + content + b"}]")
