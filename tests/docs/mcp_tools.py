"""The page `docs/reference/mcp-tools.md`, generated from the tools themselves."""

import json
from typing import Any

from gatepost.mcp.prompts import PROMPTS
from gatepost.mcp.registry import Tool
from gatepost.mcp.resources import TEMPLATES
from gatepost.mcp.tools import TOOLS

_INTRODUCTION = """\
The tools, resources and prompts that `/mcp` and `gatepost mcp` offer to an assistant. What a key may do with them
is decided by [its policy](mcp.md).

Every text that people outside of your business wrote (messages, names, captions, file names, labels) is an object
of its own, `{"untrusted": true, "text": "…"}`. In the text of an answer it is between two marks that contain a
random word of this answer. Invisible, bidirectional and tag characters are shown as codes such as `[U+202E]`. A
text of more than 4,000 characters is cut and has `"cut": true`. Fields that are empty, zero or false are left out.

A tool that fails answers with `isError` and an object `error`: its `code` is [one of the API](errors.md),
`message` says what is wrong, `instead` what to do, `rule` which rule of the policy refused the call, `retryable`
whether the same call may work later.

A list has at most 50 items (`limit`). Its `next` is the `cursor` of the next page, and belongs to this tool alone."""


def mcp_tools_page(generated: str) -> str:
    """Return the page."""
    lines = ["# Tools for assistants", "", f"{generated} from `src/gatepost/mcp`.", "", _INTRODUCTION]
    for tool in TOOLS.values():
        lines += ["", *_tool(tool)]
    lines += ["", "## Resources", "", "| address | content |", "|---|---|"]
    lines += [f"| `{one['uriTemplate']}` | {one['description']} |" for one in TEMPLATES]
    lines += ["", "## Prompts", "", "| prompt | arguments | task |", "|---|---|---|"]
    for prompt in PROMPTS.values():
        names = ", ".join(f"`{argument.name}`" for argument in prompt.arguments)
        lines.append(f"| `{prompt.name}` | {names} | {prompt.description} |")
    return "\n".join(lines) + "\n"


def _tool(tool: Tool) -> list[str]:
    listed = tool.listed()
    hints = ", ".join(f"`{name}`" for name, value in listed["annotations"].items() if value) or "none"
    lines = [f"## {tool.name}", "", tool.description, "", f"Hints: {hints}."]
    fields = listed["inputSchema"]["properties"]
    if fields:
        required = listed["inputSchema"].get("required", ())
        lines += ["", "| argument | type | |", "|---|---|---|"]
        lines += [
            f"| `{name}` | {_type(field)} | {_words(field, name in required)} |" for name, field in fields.items()
        ]
    example = json.dumps(tool.example, ensure_ascii=False)
    return [*lines, "", "```json", example, "```"]


def _type(field: dict[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(_type(option) for option in field["anyOf"])
    return str(field.get("type", "object"))


def _words(field: dict[str, Any], required: bool) -> str:
    said = [field["description"]] if "description" in field else []
    if "maximum" in field:
        said.append(f"{field['minimum']} to {field['maximum']}, by default {field['default']}.")
    if "maxLength" in field:
        said.append(f"At most {field['maxLength']:,} characters.")
    if "maxItems" in field:
        said.append(f"At most {field['maxItems']} items.")
    return " ".join([*said, *(["Required."] if required else [])])
