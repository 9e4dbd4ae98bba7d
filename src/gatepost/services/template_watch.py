"""Reads the templates again after the network reported a change without all details."""

import structlog

from gatepost.channel_task import ChannelContext
from gatepost.services.stale_watch import StaleWatch
from gatepost.services.templates import TemplateService, sync_templates
from gatepost.store.network_updates import STALE_TEMPLATES

log = structlog.get_logger("gatepost.templates")


class TemplateWatch(StaleWatch):
    """Syncs a channel's templates when its state says that they are stale."""

    name = "reading of templates"
    mark = STALE_TEMPLATES

    def __init__(self, context: ChannelContext, templates: TemplateService) -> None:
        super().__init__(context)
        self._templates = templates

    async def read(self) -> None:
        synced = await sync_templates(self._templates)
        log.info("templates synced", channel=self._channel.id, changed=synced.changed, added=synced.added)
