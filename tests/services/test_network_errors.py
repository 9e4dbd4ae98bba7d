"""The network's no, as a refusal of ours; and whom a read mark is shown to."""

import pytest

from gatepost.model.errors import NetworkAway, NetworkProblem, NetworkRefused
from gatepost.model.person import person_at
from gatepost.networks.base import CallFailed, NetworkError, Person
from gatepost.services.network_errors import network_call


def test_a_no_about_the_request_carries_the_networks_words() -> None:
    words = NetworkError(131009, "Parameter value is not valid", "vertical is unknown", "Use another one.")
    with pytest.raises(NetworkRefused) as refused, network_call():
        raise CallFailed(words, retry=False, status=400)
    error = refused.value
    assert error.message == ("The network refused: Parameter value is not valid. vertical is unknown. Use another one.")
    assert error.network == NetworkProblem(131009, "Parameter value is not valid", "vertical is unknown")
    assert (error.code, error.retryable, error.retry_after) == ("network_refused", False, None)


def test_a_no_that_passes_may_be_tried_again() -> None:
    with pytest.raises(NetworkAway) as away, network_call():
        raise CallFailed(NetworkError(0, "The network cannot be reached"), retry=True)
    assert (away.value.code, away.value.retryable) == ("network_unavailable", True)
    assert away.value.retry_after
    assert away.value.message.endswith("The network cannot be reached.")


def test_other_errors_go_their_way() -> None:
    with pytest.raises(ZeroDivisionError), network_call():
        _ = 1 // 0


@pytest.mark.parametrize(
    ("address", "person"),
    [
        ("5511999998888", Person(phone="5511999998888")),
        ("lid:120363", Person(lid="120363")),
        ("user:US.1349", Person(user_id="US.1349")),
    ],
)
def test_the_person_behind_an_address(address: str, person: Person) -> None:
    assert person_at(address) == person
