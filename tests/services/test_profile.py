"""What a business profile may hold, and how a number's health is read."""

from typing import Any

import msgspec
import pytest

from gatepost.model.errors import Invalid
from gatepost.networks.cloud.business_account import parse_number
from gatepost.services.profile import ProfileChange, check_profile

URL = "https://example.com/"


def refused(**fields: Any) -> str:
    """The field that is refused."""
    with pytest.raises(Invalid) as error:
        check_profile(ProfileChange(**fields))
    (problem,) = error.value.fields
    return problem.field


@pytest.mark.parametrize(
    ("field", "most"),
    [("about", 139), ("address", 256), ("description", 512), ("profile_picture_handle", 2048), ("vertical", 64)],
)
def test_the_length_of_a_field(field: str, most: int) -> None:
    longest: dict[str, Any] = {field: "X" * most}
    assert check_profile(ProfileChange(**longest)) == longest
    assert refused(**{field: "X" * (most + 1)}) == field


def test_an_email_address() -> None:
    longest = "a" * 116 + "@example.com"
    assert check_profile(ProfileChange(email=longest)) == {"email": longest}
    assert refused(email="a" + longest) == "email"
    for wrong in ("somebody", "a@b", "a b@example.com", "@example.com"):
        assert refused(email=wrong) == "email"


def test_websites() -> None:
    longest = URL + "a" * (256 - len(URL))
    two = [longest, "http://example.com"]
    assert check_profile(ProfileChange(websites=two)) == {"websites": two}
    assert refused(websites=[*two, URL]) == "websites"
    assert refused(websites=[URL, longest + "a"]) == "websites[1]"
    assert refused(websites=["ftp://example.com"]) == "websites[0]"


def test_what_may_be_taken_away() -> None:
    nothing: dict[str, Any] = {"address": "", "description": "", "email": "", "websites": []}
    assert check_profile(ProfileChange(**nothing)) == nothing
    for field in ("about", "vertical", "profile_picture_handle"):
        assert refused(**{field: ""}) == field
    assert refused() == "body"


def test_text_that_cannot_be_kept() -> None:
    assert refused(about="a\x00b") == "about"
    assert refused(vertical="retail") == "vertical"


def test_health_names_what_keeps_a_number_from_sending() -> None:
    error = {"error_code": 141006, "error_description": "Payment is missing"}
    number = parse_number(
        {
            "display_phone_number": "+1 555-000-1111",
            "verified_name": "My shop",
            "status": "CONNECTED",
            "quality_rating": "GREEN",
            "throughput": {"level": "STANDARD"},
            "whatsapp_business_manager_messaging_limit": "TIER_2K",
            "health_status": {
                "can_send_message": "BLOCKED",
                "entities": [
                    {"entity_type": "PHONE_NUMBER", "can_send_message": "AVAILABLE"},
                    {"entity_type": "WABA", "can_send_message": "BLOCKED", "errors": [error]},
                ],
            },
        }
    )
    assert msgspec.to_builtins(number) == {
        "status": "CONNECTED",
        "quality": "GREEN",
        "throughput": 80,
        "tier": 2000,
        "name": "My shop",
        "name_status": None,
        "can_send": "BLOCKED",
        "problems": [{"about": "WABA", "can_send": "BLOCKED", "error": error}],
    }


def test_a_network_that_says_little() -> None:
    assert parse_number({"id": "1"}).problems == []
    odd = parse_number({"health_status": {"entities": ["?", {"errors": None}]}})
    assert odd.problems == []
