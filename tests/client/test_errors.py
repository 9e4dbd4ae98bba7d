"""Every code of the API has its place in the client's tree."""

import pickle
import re
from pathlib import Path

import msgspec

from gatepost_client import errors
from gatepost_client.errors import BadWebhook, GatepostError, NoAnswer, error_of
from gatepost_client.wire import Answer
from tests.for_each import for_each

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
CODES = re.findall(r"^## (\w+)\n\n\*\*(\d+)\.?\*\*", DOCS.read_text(), re.MULTILINE)


def _answer(status: int, code: str, **more: object) -> Answer:
    body = {"success": False, "message": "No", "error": {"code": code, "novelty": 1} | more}
    return Answer(status, {"x-request-id": "req_1"}, msgspec.json.encode(body))


@for_each(("code", "status"), CODES)
def test_every_documented_code_has_a_class(code: str, status: str) -> None:
    error = error_of(_answer(int(status), code))
    assert type(error) is not errors.GatepostApiError
    assert isinstance(error, errors.BY_STATUS[int(status)])
    assert (error.code, error.status, str(error)) == (code, int(status), f"{code}: No")


def test_the_docs_were_read() -> None:
    assert len(CODES) == DOCS.read_text().count("\n## ")
    assert errors.BY_CODE.keys() <= {code for code, _ in CODES}


def test_a_code_of_tomorrow_goes_by_its_status() -> None:
    assert type(error_of(_answer(422, "novelty"))) is errors.Refused
    assert type(error_of(_answer(418, "novelty"))) is errors.GatepostApiError


def test_the_networks_words_are_there() -> None:
    error = error_of(_answer(422, "network_refused", network={"code": 190, "title": "Token", "details": None}))
    assert isinstance(error, errors.NetworkRefused)
    assert error.network == errors.NetworkProblem(190, "Token")


def test_a_proxys_page_has_a_code_of_its_own() -> None:
    error = error_of(Answer(502, {"x-request-id": "req_9"}, b"<html>"))
    assert isinstance(error, errors.Unavailable)
    assert (error.code, error.request_id, error.retryable) == ("http_502", "req_9", False)


def test_the_tree_is_drawn() -> None:
    for error in {*errors.BY_STATUS.values(), *errors.BY_CODE.values()}:
        assert f" {error.__name__} " in (errors.__doc__ or ""), error


@for_each(
    "error",
    [
        NoAnswer("The gateway did not answer: timed out", sent=True),
        BadWebhook("The header webhook-id is missing."),
        error_of(_answer(429, "rate_limited", fields=[{"field": "phone", "message": "is wrong"}])),
        error_of(Answer(503, {}, b"<html>")),
    ],
)
def test_an_error_reaches_another_process(error: GatepostError) -> None:
    """A pool of processes waits forever for an error that cannot be unpickled."""
    same = pickle.loads(pickle.dumps(error))
    assert (type(same), str(same), vars(same)) == (type(error), str(error), vars(error))
