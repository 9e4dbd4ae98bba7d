"""The test of a number's credentials in answers."""

from typing import Annotated

from msgspec import Meta

from gatepost.api.contract.fields import ApiObject, Nothing, Text
from gatepost.networks import base


class CredentialCheck(ApiObject, frozen=True):
    """One check: what was found, and what to do if it failed. `ok` is null where it could not be found out."""

    name: Annotated[base.CheckName, Meta(examples=["token"])]
    field: Annotated[str, Meta(description="The field of the request that it is about.", examples=["token"])]
    ok: Annotated[bool | None, Meta(examples=[True])]
    required: Annotated[bool, Meta(description="Whether a channel that fails it cannot work.", examples=[True])]
    message: Annotated[str, Meta(examples=["The access token is valid."])]
    advice: Nothing


class CredentialTest(ApiObject, frozen=True):
    """The checks of a number's credentials. `ok` says whether a channel can be created with them."""

    ok: Annotated[bool, Meta(examples=[True])]
    phone: Annotated[Text, Meta(description="The number, as the network knows it.", examples=["15550001111"])]
    name: Annotated[Text, Meta(description="The verified name.", examples=["The bakery"])]
    checks: list[CredentialCheck]

    @classmethod
    def of(cls, report: base.CredentialReport) -> "CredentialTest":
        """Return the result of a test."""
        checks = [
            CredentialCheck(check.name, check.field, check.ok, check.required, check.message, check.advice)
            for check in report.checks
        ]
        return cls(not report.failed, report.phone, report.name, checks)
