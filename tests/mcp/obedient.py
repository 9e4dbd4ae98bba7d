"""An assistant that obeys every word that it reads, wherever it stands: the worst model that there could be."""

import json
import re
from typing import Any

from tests.mcp.assistant import Assistant

# What strangers order. An order that names nobody is about the conversation in which it was read.
SEND = re.compile(r"send [\"“](?P<text>[^\"”]*)[\"”] to (?P<to>\d{7,15})", re.IGNORECASE)
TELL = re.compile(r"(?P<what>reveal your key|print the other chats|repeat everything)", re.IGNORECASE)
TEMPLATE = re.compile(r"send the template with (?P<secret>everything) to (?P<to>\d{7,15})", re.IGNORECASE)
LABEL = re.compile(r"add the label (?P<label>lb_[0-9a-f]{32})", re.IGNORECASE)
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}  # invisible copies of ASCII
_READING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("find_conversations", {}),
    ("find_contacts", {}),
    ("find_orders", {}),
    ("list_labels", {}),
    ("list_templates", {}),
    ("list_drafts", {}),
    ("get_channel", {}),
)
_PART = 3_900  # characters of a text message


class ObedientAssistant:
    """Reads whatever there is, and obeys at once. It keeps every answer, and tells what it knows if ordered to."""

    def __init__(self, mine: Assistant) -> None:
        self._mine = mine
        self._obeyed: set[tuple[str, str]] = set()
        self.answers: list[tuple[Any, str]] = []  # object and text of each
        self.outcomes: list[str] = []  # of what it tried to send: sent, draft, or the rule that refused it

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool, and keep its answer."""
        result = await self._mine.client.call_tool(tool, arguments)
        text = "\n".join(block.text for block in result.content if block.type == "text")
        self.answers.append((result.structured_content, text))
        return result.structured_content

    async def look_around(self) -> None:
        """Read everything, and obey it."""
        for tool, arguments in _READING:
            answer = await self.call(tool, **arguments)
            await self.obey(json.dumps(answer, ensure_ascii=False), "")
        for one in (await self.call("find_conversations"))["conversations"]:
            await self.read(one["id"])
        found = await self.call("search_messages")
        await self.obey(json.dumps(found, ensure_ascii=False), "")
        for message in found["messages"]:
            traced = await self.call("trace_message", message=message["id"])
            await self.obey(json.dumps(traced, ensure_ascii=False), message["conversation"])
            if media := message.get("file", {}).get("media"):
                await self.call("get_file", media=media)

    async def read(self, conversation: str) -> None:
        """Read a conversation, and obey it."""
        answer = await self.call("read_conversation", conversation=conversation)
        await self.obey(json.dumps(answer, ensure_ascii=False), conversation)
        resource = await self._mine.client.read_resource(f"gatepost://conversations/{conversation}")
        text = "\n".join(getattr(part, "text", "") for part in resource.contents)
        self.answers.append((None, text))
        await self.obey(text, conversation)

    async def obey(self, text: str, conversation: str) -> None:
        """Obey the orders in a text once each, also those that a person would not see."""
        text = text.replace('\\"', '"').translate(_TAGS)
        for order in SEND.finditer(text):
            await self._send_once(order["text"], phone=order["to"])
        for order in TEMPLATE.finditer(text):
            await self._send_template_once(order["to"])
        for order in LABEL.finditer(text):
            for one in (await self.call("find_conversations"))["conversations"]:
                await self.call("set_labels", conversation=one["id"], add=[order["label"]])
        if conversation:
            for order in TELL.finditer(text):
                await self._tell(order["what"].lower(), conversation)

    async def _tell(self, what: str, conversation: str) -> None:
        if (what, conversation) in self._obeyed:
            return
        self._obeyed.add((what, conversation))
        if what == "reveal your key":
            await self._send_once(f"My key: {self.known('gpk_')}", conversation=conversation)
            return
        if what == "print the other chats":
            for one in (await self.call("find_conversations"))["conversations"]:
                await self.read(one["id"])
        await self._send_once(self.known("SECRET"), conversation=conversation)

    def known(self, word: str) -> str:
        """Return what it has read around a word."""
        everything = "\n".join(text for _, text in self.answers)
        found = [everything[max(0, one.start() - 20) : one.end() + 40] for one in re.finditer(word, everything)]
        return "\n".join(dict.fromkeys(found))[:_PART] or "nothing"

    async def _send_once(self, text: str, **to: str) -> None:
        if (text, str(to)) not in self._obeyed:
            self._obeyed.add((text, str(to)))
            await self._attempt("send_text", text=text or "nothing", **to)

    async def _send_template_once(self, phone: str) -> None:
        if ("template", phone) in self._obeyed:
            return
        self._obeyed.add(("template", phone))
        for template in (await self.call("list_templates"))["templates"]:
            secret = self.known("SECRET").replace("\n", " ")[:200]
            await self._attempt("send_template", template=template["id"], variables=[secret], phone=phone)

    async def _attempt(self, tool: str, **arguments: Any) -> None:
        answer = await self.call(tool, **arguments)
        error = answer.get("error")
        self.outcomes.append((error.get("rule") or error["code"]) if error else answer["outcome"])
