"""Every view of the dashboard: its pages, and their dialogs opened. The accessibility tests and the screenshots use it.

A new page gets a row for each of its views:

    View("webhooks-add", "/webhooks", see="Where events are posted to.", steps=[click("button", "Add an endpoint")])

The channel is that of `shop.py`, `{channel}` in a path too; with `empty=True` it is another one, which has nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from playwright.async_api import Page, expect

from tests.console.shop import ASKED

Step = Callable[[Page], Awaitable[None]]


class View(NamedTuple):
    """A page, what is done there, and a text that is seen afterwards."""

    name: str
    path: str
    see: str
    steps: Sequence[Step] = ()
    empty: bool = False
    public: bool = False  # shown to people who are not signed in

    async def show(self, page: Page, home: str, channels: tuple[str, str]) -> None:
        """Open the view. `channels`: that of the shop, and an empty one."""
        channel = channels[self.empty]
        path = self.path.replace("{channel}", channel)
        await page.goto(home + path + ("" if self.public else f"?channel={channel}"))
        for step in self.steps:
            await step(page)
        await page.get_by_text(self.see).first.wait_for()
        if self.steps:
            await expect(page.get_by_role("menu")).to_have_count(0)  # it closes after the click on its item


def click(role: Any, name: str, nth: int = 0, *, exact: bool = False) -> Step:
    """Return a step that clicks a button, menu item or row whose name contains this, or is this."""

    async def step(page: Page) -> None:
        item = page.get_by_role(role, name=name, exact=exact).nth(nth)
        if role == "menuitem":  # a menu moves, and may be hidden, while the page around it still grows
            await item.dispatch_event("click")
        else:
            await item.click()

    return step


def open_row(name: str) -> Step:
    """Return a step that opens the row of a table or list that contains a text."""

    async def step(page: Page) -> None:
        await page.get_by_role("row").or_(page.get_by_role("listitem")).filter(has_text=name).first.click()

    return step


def see(text: str) -> Step:
    """Return a step that waits until a text is visible."""

    async def step(page: Page) -> None:
        await page.get_by_text(text).first.wait_for()

    return step


def fill(label: str, text: str) -> Step:
    """Return a step that types into a field."""

    async def step(page: Page) -> None:
        await page.get_by_label(label, exact=True).fill(text)

    return step


def upload(label: str, name: str, content: bytes) -> Step:
    """Return a step that chooses a file."""

    async def step(page: Page) -> None:
        await page.get_by_label(label).set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})

    return step


def press(key: str) -> Step:
    """Return a step that presses a key."""

    async def step(page: Page) -> None:
        await page.keyboard.press(key)

    return step


_TABLE = b"phone,name\n447700900110,Ruby Shaw\n+44 7700,Leo Hart\n12,Mia Reed\n"
_BODY = "Hello {{1}}, your order {{2}} is ready. Come and get it before 6 pm."

_TEST = [
    click("button", "Official number"),
    fill("Phone number id", "106540352242922"),
    fill("Access token", "EAAG4tx0"),
    fill("App secret", "8d7f12a0"),
    press("Enter"),
]

_NEW_ASSISTANT = [
    click("button", "Create a key"),
    fill("Name", "Assistant"),
    click("button", "Create", exact=True),
    click("button", "I have copied it"),
]

VIEWS = [
    View("sign-in", "/", "Forgot your password?", public=True),
    View("link-not-valid", "/link/nothing", "This link does not work any more", public=True),
    View("inbox", "/inbox", "Olivia Bennett"),
    View("inbox-empty", "/inbox", "No open conversation", empty=True),
    View("inbox-thread", "/inbox", "rye breads", [open_row("Olivia Bennett"), click("button", "Details")]),
    View(
        "inbox-trace",
        "/inbox",
        "Accepted by the gateway",
        [open_row("Olivia Bennett"), click("button", "Actions", 2), click("menuitem", "Trace")],
    ),
    View("inbox-draft", "/inbox", "Draft of", [open_row(ASKED)]),
    View("inbox-draft-edit", "/inbox", "Edit the draft", [open_row(ASKED), click("button", "Edit", exact=True)]),
    View("inbox-draft-refuse", "/inbox", "Comment", [open_row(ASKED), click("button", "Refuse", exact=True)]),
    View("inbox-drafts", "/inbox", "Expired", [see(ASKED), click("button", "Drafts")]),
    View("inbox-drafts-empty", "/inbox", "No draft waits", [click("button", "Drafts")], empty=True),
    View("inbox-views", "/inbox", "No saved view yet", [see("Olivia Bennett"), click("button", "Saved views")]),
    View(
        "inbox-buttons",
        "/inbox",
        "Message with buttons",
        [open_row("Olivia Bennett"), click("button", "Send something else"), click("menuitem", "Buttons")],
    ),
    View(
        "inbox-list",
        "/inbox",
        "Message with a list",
        [open_row("Olivia Bennett"), click("button", "Send something else"), click("menuitem", "List")],
    ),
    View(
        "inbox-template",
        "/inbox",
        "Send a template",
        [open_row("Olivia Bennett"), click("button", "Send something else"), click("menuitem", "Template")],
    ),
    View("inbox-shortcuts", "/inbox", "Keyboard shortcuts", [see("Olivia Bennett"), press("Shift+?")]),
    View("contacts", "/contacts", "Olivia Bennett"),
    View("contacts-empty", "/contacts", "No contacts yet", empty=True),
    View("contacts-one", "/contacts", "Known since", [open_row("Olivia Bennett"), click("button", "Add a field")]),
    View("contacts-add", "/contacts", "With the country code", [click("button", "Add a contact")]),
    View(
        "contacts-import",
        "/contacts",
        "Lines that were not imported",
        [
            click("button", "Import and export"),
            click("menuitem", "Import a table"),
            upload("Table", "people.csv", _TABLE),
        ],
    ),
    View("labels", "/contacts/labels", "Waiting for payment"),
    View("labels-edit", "/contacts/labels", "Empty: one is chosen for you.", [click("button", "Edit VIP")]),
    View("templates", "/templates", "payment_reminder"),
    View("templates-one", "/templates", "The network's reason", [open_row("easter_offer")]),
    View(
        "templates-editor",
        "/templates/editor",
        "Example for {{2}}",
        [
            fill("Text", _BODY),
            fill("Example for {{1}}", "Olivia"),
            click("button", "Add a button"),
            click("menuitem", "Open a page"),
        ],
    ),
    View("orders", "/orders", "Harry Collins"),
    View("orders-empty", "/orders", "No orders yet", empty=True),
    View("orders-one", "/orders", "butter-croissant", [open_row("Olivia Bennett")]),
    View("channels", "/channels", "this month"),
    View("channels-add", "/channels/new", "Any phone with WhatsApp"),
    View("channels-qr", "/channels/new", "Next, you scan a code", [click("button", "Phone by QR code")]),
    View("channels-test", "/channels/new", "The network rejects the access token", _TEST),
    View("channels-one", "/channels/{channel}", "AVAILABLE"),
    View("channels-token", "/channels/{channel}", "wait for a valid token", [click("button", "New token")]),
    View("channels-delete", "/channels/{channel}", "cannot be undone", [click("button", "Delete")]),
    View("webhooks", "/webhooks", "/crm"),
    View("webhooks-empty", "/webhooks", "No endpoint yet", empty=True),
    View(
        "webhooks-add",
        "/webhooks",
        "An event waits until the one before it has arrived.",
        [click("button", "Add an endpoint"), click("button", "More settings")],
    ),
    View(
        "webhooks-test",
        "/webhooks",
        "Status 200",
        [click("button", "Send a test event"), click("button", "Send", exact=True)],
    ),
    View(
        "webhooks-secret",
        "/webhooks",
        "are signed with the new secret at once",
        [click("button", "Actions for"), click("menuitem", "New signing secret")],
    ),
    View(
        "webhooks-recover",
        "/webhooks",
        "Every event of this time",
        [click("button", "Actions for"), click("menuitem", "Recover missed events")],
    ),
    View(
        "webhooks-delete",
        "/webhooks",
        "gets no more events",
        [click("button", "Actions for"), click("menuitem", "Delete")],
    ),
    View("log", "/webhooks/log", "1 delivery", [click("checkbox", "Select", 1)]),
    View("log-delivery", "/webhooks/log", "Attempt 1", [open_row("Retrying")]),
    View("trace", "/webhooks/log", "Time line", [open_row("New message"), click("link", "Trace of the message")]),
    View("developers", "/developers", "A key is shown only once"),
    View("developers-create", "/developers", "What the key may do.", [click("button", "Create a key")]),
    View(
        "developers-rotate",
        "/developers",
        "The new key has the name",
        [click("button", "Actions for"), click("menuitem", "Rotate")],
    ),
    View("developers-examples", "/developers/examples", "Send a text"),
    View(
        "developers-console",
        "/developers/console",
        "Response headers",
        [fill("Body", "{}"), click("button", "Send the request")],
    ),
    View("developers-refused", "/developers/refused", "Open in the console", [open_row("/api/v1/message/send")]),
    View("developers-refused-empty", "/developers/refused", "No refused requests", empty=True),
    View("mcp-rules", "/developers/mcp", "Save the rules", _NEW_ASSISTANT),
    View("mcp", "/developers/mcp", "A person approves each message."),
    View("mcp-empty", "/developers/mcp", "No assistant yet", empty=True),
    View("mcp-stop", "/developers/mcp", "in all channels", [click("button", "Stop all assistants")]),
    View("mcp-calls-empty", "/developers/mcp/calls", "No calls", empty=True),
    View("usage", "/usage", "What each channel sent"),
    View("usage-table", "/usage", "Show as a plot", [click("button", "Show as a table")]),
    View("team", "/account", "(you)"),
    View("team-invite", "/account", "the gateway sends no e-mail", [click("button", "Invite")]),
    View("team-role", "/account", "Role of", [click("button", "Actions for"), click("menuitem", "Change the role")]),
    View("team-remove", "/account", "stays in the log", [click("button", "Actions for"), click("menuitem", "Remove")]),
    View("plan", "/account/plan", "Change the plan"),
    View("account-log", "/account/log", "Signed in"),
    View("profile", "/profile", "Two-factor authentication"),
    View("profile-code", "/profile", "Your password", [click("button", "Set up")]),
    View("not-found", "/nothing", "There is no such page"),
]
