"""Templates: texts with variables that the network has approved, and that may be sent at any time."""

from gatepost.model.template.creation import check_new_template
from gatepost.model.template.preview import Preview, PreviewHeader, preview
from gatepost.model.template.use import check_use
from gatepost.model.template.values import NewTemplate, Template, TemplateUse

__all__ = [
    "NewTemplate",
    "Preview",
    "PreviewHeader",
    "Template",
    "TemplateUse",
    "check_new_template",
    "check_use",
    "preview",
]
