"""The reading tools, called by the SDK's own client in both eras of the protocol."""

import pytest

from tests.mcp.assistant import ERAS, PERSON, assistant, mcp_key, write
from tests.running_gateway import Gateway


@pytest.mark.parametrize("era", ERAS)
async def test_a_conversation_is_found_and_read(gateway: Gateway, era: str) -> None:
    conversation = await write(gateway, "Is my order ready?")
    async with assistant(gateway, await mcp_key(gateway), era) as mine:
        listed = await mine.ask("find_conversations", unread=True)
        [found] = listed["conversations"]
        assert found["id"] == conversation
        assert found["name"] == {"untrusted": True, "text": "Ana"}
        assert found["phone_ends"] == PERSON[-4:]
        assert PERSON not in str(listed)
        assert "order" not in str(listed)

        shown = await mine.ask("read_conversation", conversation=conversation)
        assert shown["person"]["phone"] == PERSON
        assert [one["content"] for one in shown["messages"]] == [{"untrusted": True, "text": "Is my order ready?"}]
        again = await mine.ask("find_conversations", unread=True)
        assert [one["id"] for one in again["conversations"]] == [conversation]
