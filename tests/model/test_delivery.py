"""Names of deliveries, and headers that are fit for a log."""

from uuid import UUID, uuid4

import pytest

from gatepost.model.delivery import masked, masked_pairs, read_delivery_id, show_delivery_id
from tests.for_each import for_each


def test_a_name_leads_back_to_its_delivery() -> None:
    endpoint_id, event_id = uuid4(), uuid4()
    name = show_delivery_id(endpoint_id, event_id)
    assert len(name) == 3 + 64
    assert read_delivery_id(name) == (endpoint_id, event_id)
    assert read_delivery_id("dl_" + "0" * 64) == (UUID(int=0), UUID(int=0))
    for wrong in ("", "dl_", name[3:], name[:-1], name + "0", name.upper(), name + "\n", "dl_" + "٠" * 64):
        assert read_delivery_id(wrong) is None, wrong


@for_each(
    "name",
    [
        "Authorization",
        "proxy-authorization",
        "Cookie",
        "X-Api-Key",
        "x_api_key",
        "ApiKey",
        "Api-Key",
        "X-Auth",
        "X-Auth-Token",
        "X-Access-Key",
        "X-Secret",
        "X-Password",
        "X-Session-Id",
        "Ocp-Apim-Subscription-Key",
        "Set-Cookie",
    ],
)
def test_credentials_are_masked(name: str) -> None:
    assert masked({name: "hush"}) == {name: "***"}
    assert masked_pairs([(name, "hush"), (name, "Bearer hush")]) == [(name, "***"), (name, "Bearer ***")]


@pytest.mark.parametrize(
    "name",
    [
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
        "content-type",
        "user-agent",
    ],
)
def test_our_own_headers_are_shown(name: str) -> None:
    assert masked({name: "v1,abc def"}) == {name: "v1,abc def"}


@pytest.mark.parametrize("name", ["X-Shop", "X-Author", "X-Keyboard", "X-Monkey"])
def test_what_a_customer_chose_is_masked_and_what_a_receiver_answers_is_shown(name: str) -> None:
    assert masked({name: "7"}) == {name: "***"}
    assert masked_pairs([(name, "7")]) == [(name, "7")]
