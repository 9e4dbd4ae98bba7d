"""The served reference and the gateway agree, whatever is sent: no 500, no answer that is not in the reference.

Each route gets requests that fit the reference and requests that break it, half of them about things that exist. Of the
routes, `make test` tries a third each day.
"""

import asyncio
import itertools
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import (
    CHECKS,
    content_type_conformance,
    load_all_checks,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from tests.gateway.reference import Tenant, move_in, routes_of, served
from tests.patience import PATIENCE
from tests.running_gateway import Gateway
from tests.thorough import choose, rotated

EXAMPLES = choose(4, 2)
AGREED = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
STEADY = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


# The generator of schemathesis draws from `random` for some schemas, and hypothesis warns of it.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning")
async def test_the_gateway_keeps_to_its_reference(gateway: Gateway) -> None:
    document = await served(gateway)
    wanted = {name for route in routes_of(document) if route.scope for name in route.ids}
    tenant = await move_in(gateway, wanted, 1)
    broken = await asyncio.to_thread(_try_all, document, gateway.url, tenant)
    assert not broken, "\n\n".join(broken)


def _try_all(document: Any, url: str, tenant: Tenant) -> list[str]:
    load_all_checks()
    assert CHECKS
    every: Any = schemathesis.openapi.from_dict(document).get_all_operations()
    operations = rotated([found.ok() for found in every], 3)
    operations.sort(key=lambda one: one.method.upper() == "DELETE")  # what is deleted can be asked about no more
    with requests.Session() as session:
        session.trust_env = False
        session.headers["Authorization"] = f"Bearer {tenant.key}"
        return [
            f"{operation.label} ({mode.value}): {problem}"
            for operation in operations
            if not operation.path.endswith("/stream")
            for mode in _modes(operation)
            if (problem := _try(operation, mode, url, session, tenant))
        ]


def _modes(operation: Any) -> list[GenerationMode]:
    """Where nothing can be given, nothing can be wrong."""
    takes = "requestBody" in operation.definition.raw or operation.definition.raw["parameters"]
    return [GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if takes else [])]


def _try(operation: Any, mode: GenerationMode, url: str, session: requests.Session, tenant: Tenant) -> str | None:
    turns = itertools.count()

    @STEADY
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        if case.path_parameters and next(turns) % 2:
            case.path_parameters = {
                name: tenant.things.get(name, value) for name, value in case.path_parameters.items()
            }
        _stay_home(case)
        response = case.call(base_url=url, session=session, timeout=PATIENCE)
        case.validate_response(response, checks=AGREED)
        assert response.headers.get("x-request-id"), "there is no request id"

    try:
        run()
    except (Exception, BaseExceptionGroup) as problem:
        seen = getattr(problem, "exceptions", None) or [problem]
        return "; ".join(f"{type(one).__name__}: {one}" for one in seen)[:2500]
    return None


def _stay_home(case: Any) -> None:
    """No address that is made up is looked up: names are asked of servers far away."""
    if isinstance(case.body, dict):
        for field in ("url", "media", "link"):
            if "://" in str(case.body.get(field, "")):
                case.body[field] = "http://127.0.0.1:9/"
