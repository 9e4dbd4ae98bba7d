"""The credentials of numbers: tested at the network before they are stored."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from gatepost.admin.channels import CloudNumber, check_number
from gatepost.admin.checks import check_token
from gatepost.model.errors import FieldProblem, Invalid
from gatepost.networks.base import CredentialReport
from gatepost.networks.cloud.secrets import ChannelSecrets

# Tests the address and the secrets of a channel of a kind.
CheckCredentials = Callable[[str, Mapping[str, Any], bytes], Awaitable[CredentialReport]]


async def check_credentials(
    check: CheckCredentials, kind: str, number: CloudNumber, token: str, app_secret: str
) -> CredentialReport:
    """Test credentials. An error of the network that may pass raises CallFailed."""
    secrets = ChannelSecrets(check_token(token, "token"), check_token(app_secret, "app_secret"), "")
    return await check(kind, check_number(number), msgspec.json.encode(secrets))


def check_usable(report: CredentialReport) -> None:
    """Reject credentials with which a channel cannot work."""
    problems = [
        FieldProblem(check.field, " ".join(filter(None, (check.message, check.advice)))) for check in report.failed
    ]
    if problems:
        raise Invalid(" ".join(check.message for check in report.failed), fields=tuple(problems))
