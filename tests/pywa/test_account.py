"""pywa looks after the number and the account: profile, settings, codes, blocked users, registration, callbacks."""

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pywa import utils
from pywa.errors import WhatsAppError
from pywa.types.others import Command, Industry, UserIdentityChangeSettings, UsernameStatusType

from tests.patience import PATIENCE

from .stage import APP, BUSINESS, NUMBER, PERSON, PHONE, SECRET, VERIFY, WABA, Stage

PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)


def test_the_profile(stage: Stage) -> None:
    assert stage.wa.update_business_profile(
        about="We sell", email="a@b.c", industry=Industry.RETAIL, websites=["https://a.b"], profile_picture=PNG
    )
    profile = stage.wa.get_business_profile()
    assert (profile.about, profile.industry, profile.websites) == ("We sell", Industry.RETAIL, ("https://a.b",))
    assert profile.profile_picture_url is not None
    assert httpx.get(profile.profile_picture_url, trust_env=False).content == PNG
    assert stage.wa.update_business_profile(email=None)
    assert stage.wa.get_business_profile().email is None
    with pytest.raises(WhatsAppError):
        stage.wa.update_business_profile(about="x" * 140)


def test_the_number(stage: Stage) -> None:
    number = stage.wa.get_business_phone_number()
    assert (number.id, number.verified_name, number.status) == (NUMBER, "Acme", "CONNECTED")
    assert number.health_status is not None
    assert [found.id for found in stage.wa.get_business_phone_numbers()] == [NUMBER]
    assert stage.wa.update_display_name("New")
    assert stage.wa.get_business_phone_number().new_name_status == "PENDING_REVIEW"


def test_settings_and_automation(stage: Stage) -> None:
    assert stage.wa.update_business_phone_number_settings(
        user_identity_change=UserIdentityChangeSettings(enable_identity_key_check=True)
    )
    settings = stage.wa.get_business_phone_number_settings()
    assert settings.user_identity_change is not None
    assert settings.user_identity_change.enable_identity_key_check
    assert stage.wa.update_commerce_settings(is_catalog_visible=True, is_cart_enabled=False)
    commerce = stage.wa.get_commerce_settings()
    assert (commerce.is_catalog_visible, commerce.is_cart_enabled) == (True, False)
    assert stage.wa.update_conversational_automation(["Hours?"], [Command(name="help", description="Helps")])
    automation = stage.wa.get_business_phone_number().conversational_automation
    assert automation is not None
    assert (automation.ice_breakers, automation.commands[0].name) == (("Hours?",), "help")  # type: ignore[index]
    key = "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----"
    assert stage.wa.set_business_public_key(key)


def test_registration(stage: Stage) -> None:
    assert stage.wa.deregister_phone_number()
    with pytest.raises(WhatsAppError) as seen:
        stage.wa.send_message(PERSON, "hi")
    assert seen.value.code == 133010
    assert stage.wa.register_phone_number("123456")
    made = stage.wa.create_phone_number(country_calling_code="1", phone_number="5550009999", verified_name="Second")
    assert stage.wa.request_verification_code(code_method="SMS", language_code="en_US", phone_id=made.id)
    code = stage.control("GET", f"numbers/{made.id}/file")["code"]
    assert stage.wa.verify_phone_number(code, phone_id=made.id)
    assert stage.wa.register_phone_number("123456", phone_id=made.id)


def test_qr_codes(stage: Stage) -> None:
    code = stage.wa.create_qr_code("Hello", image_type="PNG")
    assert code.qr_image_url is not None
    assert httpx.get(code.qr_image_url, trust_env=False).content.startswith(b"\x89PNG")
    assert code.update(prefilled_message="Bye").prefilled_message == "Bye"
    fetched = stage.wa.get_qr_code(code.code, image_type="SVG")
    assert fetched is not None
    assert fetched.prefilled_message == "Bye"
    assert len(stage.wa.get_qr_codes()) == 1
    assert code.delete()
    assert stage.wa.get_qr_code(code.code) is None


def test_blocked_users(stage: Stage) -> None:
    added = stage.wa.block_users([PERSON])
    assert [user.wa_id for user in added.added_users] == [PERSON]
    with pytest.raises(WhatsAppError) as seen:
        stage.wa.send_message(PERSON, "hi")
    assert seen.value.code == 130403
    assert [user.wa_id for user in stage.wa.get_blocked_users()] == [PERSON]
    assert [user.wa_id for user in stage.wa.unblock_users([PERSON]).removed_users] == [PERSON]
    assert stage.wa.send_message(PERSON, "hi").id


def test_usernames(stage: Stage) -> None:
    assert "acme" in stage.wa.get_reserved_usernames()
    assert stage.wa.set_username("acme").status == UsernameStatusType.APPROVED
    assert stage.wa.get_current_username().username == "acme"
    assert stage.wa.delete_username()


def test_the_account(stage: Stage) -> None:
    account = stage.wa.get_business_account()
    assert (account.id, account.name) == (WABA, "Acme")
    assert account.subscribed_apps is not None
    assert account.subscribed_apps[0].id == APP
    stage.wa.update_business_account_settings(disable_marketing_messages_on_cloud_api=True)
    assert stage.wa.get_business_account().disable_marketing_messages_on_cloud_api
    owned = stage.wa.get_owned_business_accounts(business_portfolio_id=BUSINESS)
    assert [found.id for found in owned] == [WABA]
    assert len(stage.wa.get_shared_business_accounts(business_portfolio_id=BUSINESS)) == 0


def eventually(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("scope", list(utils.CallbackURLScope))
def test_pywa_registers_its_address_by_itself(stage: Stage, scope: utils.CallbackURLScope) -> None:
    stage.register()
    assert stage.control("GET", f"numbers/{NUMBER}/file")["callback_url"] is None
    stage.client(callback_url=stage.hooks.url, callback_url_scope=scope)
    url = f"{stage.hooks.url}/"
    eventually(lambda: stage.control("GET", f"numbers/{NUMBER}/file")["callback_url"] == url)
    stage.incoming("text", {"body": "hi"})
    received = stage.raw.get(timeout=PATIENCE)
    assert received["entry"][0]["changes"][0]["value"]["metadata"] == {
        "display_phone_number": PHONE,
        "phone_number_id": NUMBER,
    }


def test_addresses_set_by_a_person(stage: Stage) -> None:
    url = f"{stage.hooks.url}/"
    token = stage.wa.get_app_access_token(int(APP), SECRET)
    assert stage.wa.set_app_callback_url(
        app_id=int(APP), app_access_token=token, callback_url=url, verify_token=VERIFY, fields=["messages"]
    )
    assert stage.wa.override_waba_callback_url(callback_url=url, verify_token=VERIFY)
    assert stage.wa.override_phone_callback_url(callback_url=url, verify_token=VERIFY)
    assert stage.control("GET", f"numbers/{NUMBER}/file")["override"] == url
    assert stage.wa.get_business_phone_number().webhook_configuration == {
        "phone_number": url,
        "whatsapp_business_account": url,
        "application": url,
    }
    assert stage.wa.delete_phone_callback_url()
    assert stage.wa.delete_waba_callback_url()
    assert stage.control("GET", f"numbers/{NUMBER}/file")["override"] is None


UNSUPPORTED: dict[str, Callable[[Any], Any]] = {
    "calls": lambda wa: wa.reject_call("wacid.1"),
    "groups": lambda wa: wa.get_groups(),
    "flows": lambda wa: wa.get_flows(),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_the_sandbox_has_not_is_a_clean_error(stage: Stage, name: str) -> None:
    with pytest.raises(WhatsAppError) as seen:
        UNSUPPORTED[name](stage.wa)
    assert (seen.value.code, seen.value.subcode) == (100, 33)
