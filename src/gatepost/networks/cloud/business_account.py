"""The management API of a number and its business account: templates, the profile, the state of the number."""

from collections.abc import Mapping
from typing import Any

from pyreqwest.client import Client

from gatepost.model.number_status import NumberHealth, NumberProblem
from gatepost.model.template import Template
from gatepost.model.template.values import word
from gatepost.networks.base import CallFailed, NetworkError
from gatepost.networks.cloud.account_updates import tier
from gatepost.networks.cloud.graph import Graph
from gatepost.networks.cloud.json_values import as_dict, as_id, as_list, as_str

_TEMPLATE_FIELDS = "id,name,language,status,category,parameter_format,components,quality_score,rejected_reason"
_NUMBER_FIELDS = (
    "id,display_phone_number,verified_name,status,quality_rating,name_status,code_verification_status,account_mode,"
    "throughput,whatsapp_business_manager_messaging_limit,health_status"
)
_PROFILE_FIELDS = "about,address,description,email,profile_picture_url,websites,vertical"
_THROUGHPUT = {"STANDARD": 80, "HIGH": 1000}
_PAGE = "100"
_PAGES_MAX = 100


class CloudAccount:
    """The management API of one number and its business account."""

    def __init__(
        self, client: Client, base_url: str, version: str, phone_number_id: str, waba_id: str, token: str
    ) -> None:
        self._graph = Graph(client, base_url, version, token)
        self._number = phone_number_id
        self._waba = waba_id

    # -- templates ----------------------------------------------------------------------------------------------------

    async def list_templates(self, name: str | None = None) -> list[Template]:
        """Return all templates of the account, or those with one name."""
        query = {"fields": _TEMPLATE_FIELDS, "limit": _PAGE} | ({"name": name} if name else {})
        found: list[Template] = []
        for _ in range(_PAGES_MAX):
            page = await self._graph.get(self._waba, "message_templates", query=query)
            found += [parse_template(one) for one in as_list(page.get("data")) if as_dict(one).get("id")]
            after = _next_page(as_dict(page.get("paging")))
            if after is None or after == query.get("after"):
                break
            query["after"] = after
        return found

    async def get_template(self, network_id: str) -> Template:
        """Return one template."""
        return parse_template(await self._graph.get(network_id, query={"fields": _TEMPLATE_FIELDS}))

    async def create_template(self, new: Template) -> Template:
        """Submit a new template; its status says whether it is in review."""
        known: dict[str, Any] = {"name": new.name, "language": new.language, "category": new.category}
        known |= {"parameter_format": "named" if new.named else "positional", "components": new.components}
        ttl = new.message_send_ttl_seconds
        body = known | ({} if ttl is None else {"message_send_ttl_seconds": ttl})
        answer = await self._graph.post(self._waba, "message_templates", body=body)
        reported = {key: value for key, value in answer.items() if value is not None}
        return parse_template(known | {"status": "PENDING"} | reported)

    async def edit_template(self, network_id: str, changes: Mapping[str, Any]) -> None:
        """Change fields of a template; components are replaced as a whole."""
        await self._graph.post(network_id, body=changes)

    async def delete_template(self, name: str, network_id: str | None = None) -> None:
        """Delete a template in one language, or without an id in all languages."""
        query = {"name": name} | ({"hsm_id": network_id} if network_id else {})
        await self._graph.delete(self._waba, "message_templates", query=query)

    # -- the number ---------------------------------------------------------------------------------------------------

    async def read_number(self) -> NumberHealth:
        """Return the state of the number."""
        return parse_number(await self._graph.get(self._number, query={"fields": _NUMBER_FIELDS}))

    async def read_profile(self) -> dict[str, Any]:
        """Return the public business profile."""
        answer = await self._graph.get(self._number, "whatsapp_business_profile", query={"fields": _PROFILE_FIELDS})
        found = as_dict(next(iter(as_list(answer.get("data"))), None))
        return {key: value for key, value in found.items() if key != "messaging_product"}

    async def update_profile(self, changes: Mapping[str, Any]) -> None:
        """Change fields of the business profile."""
        body = {"messaging_product": "whatsapp"} | dict(changes)
        await self._graph.post(self._number, "whatsapp_business_profile", body=body)


def parse_template(found: Mapping[str, Any]) -> Template:
    """Parse a template of the network."""
    network_id, name = as_id(found.get("id")), as_str(found.get("name"), 512)
    if network_id is None or name is None:
        raise CallFailed(NetworkError(0, "The network answered with a template without id or name"), retry=False)
    reason = as_str(found.get("rejected_reason"), 1000)
    return Template(
        network_id=network_id,
        name=name,
        language=(as_str(found.get("language"), 32) or "").replace("-", "_"),
        status=(as_str(found.get("status"), 64) or "UNKNOWN").upper(),
        category=(as_str(found.get("category"), 64) or "UNKNOWN").upper(),
        parameter_format="NAMED" if word(found.get("parameter_format")) == "NAMED" else "POSITIONAL",
        components=[one for one in as_list(found.get("components")) if isinstance(one, dict)],
        quality=as_str(as_dict(found.get("quality_score")).get("score"), 64),
        reason=None if reason == "NONE" else reason,
    )


def parse_number(found: Mapping[str, Any]) -> NumberHealth:
    """Parse the state of a number, and what keeps it from sending."""
    health = as_dict(found.get("health_status"))
    return NumberHealth(
        status=as_str(found.get("status"), 64),
        quality=as_str(found.get("quality_rating"), 64),
        throughput=_THROUGHPUT.get(as_str(as_dict(found.get("throughput")).get("level"), 64) or ""),
        tier=tier(found.get("whatsapp_business_manager_messaging_limit")),
        name=as_str(found.get("verified_name"), 512),
        name_status=as_str(found.get("name_status"), 64),
        can_send=as_str(health.get("can_send_message"), 64),
        problems=[problem for entity in as_list(health.get("entities")) for problem in _problems(as_dict(entity))],
    )


def _problems(entity: Mapping[str, Any]) -> list[NumberProblem]:
    about, can_send = entity.get("entity_type"), entity.get("can_send_message")
    return [NumberProblem(about, can_send, error) for error in as_list(entity.get("errors"))]


def _next_page(paging: Mapping[str, Any]) -> str | None:
    """Return the cursor of the next page, or None."""
    return as_str(as_dict(paging.get("cursors")).get("after"), 4096) if paging.get("next") else None
