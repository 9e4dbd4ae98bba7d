"""The pages about contacts and labels, in a real browser."""

from typing import Any

from playwright.async_api import expect

from tests.console.visitor import add_person, visiting
from tests.patience import patience
from tests.running_gateway import Gateway

CONTACTS = "/api/v1/contacts"
EVIL = '<img src=x onerror="document.title=1">'


async def create(gateway: Gateway, path: str, **fields: Any) -> str:
    """Create a contact or a label; return its id."""
    made = await gateway.call("POST", f"/api/v1/{path}", fields)
    assert made.status == 201, made.body
    id_: str = made.json()["data"]["id"]
    return id_


async def test_a_contact_is_added_changed_labelled_merged_and_deleted(gateway: Gateway) -> None:
    await create(gateway, "contacts", phone="5511999990002", name="Benjamin")
    await create(gateway, "labels", name="VIP")
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/contacts")
        page = visitor.page
        await page.get_by_role("button", name="Add a contact").click()
        await page.get_by_label("Phone number").fill("12")
        await page.get_by_role("button", name="Add", exact=True).click()
        await expect(page.get_by_label("Phone number")).to_have_attribute("aria-invalid", "true")
        await page.get_by_label("Phone number").fill("+55 11 99999-0001")
        await page.get_by_role("button", name="Add", exact=True).click()
        panel = page.get_by_role("dialog", name="Contact", exact=True)
        await panel.get_by_label("Name", exact=True).fill("Ana Maria")
        await panel.get_by_role("button", name="Add a field").click()
        await panel.get_by_label("Name of field 1").fill("city")
        await panel.get_by_label("Value of city").fill("Lisbon")
        await panel.get_by_role("switch", name="Opted out of marketing").check()
        await panel.get_by_role("button", name="Save").click()
        await visitor.see("The contact is changed.")
        await panel.get_by_role("combobox", name="Labels").click()
        await page.get_by_role("option", name="VIP").click()
        await expect(page.get_by_role("listitem").filter(has_text="Ana Maria")).to_contain_text("VIP")
        ana = (await gateway.call("GET", f"{CONTACTS}?phone=5511999990001")).json()["data"][0]
        assert (ana["name"], ana["custom"], ana["opted_out"]) == ("Ana Maria", {"city": "Lisbon"}, True)
        await visitor.choose("Actions for this contact", "Merge with another")
        other = page.get_by_role("combobox", name="The other contact")
        await other.fill("Benj")
        await page.get_by_role("option", name="Benjamin").click()
        await other.fill("Ben")  # somebody else may be meant
        await expect(page.get_by_role("button", name="Merge", exact=True)).to_be_disabled()
        await page.get_by_role("option", name="Benjamin").click()
        await page.get_by_role("button", name="Merge", exact=True).click()
        await visitor.see("The two contacts are one.")
        await visitor.choose("Actions for this contact", "Delete")
        await page.get_by_role("button", name="Delete", exact=True).click()
        await visitor.see("No contacts yet")


async def test_saving_an_open_contact_keeps_what_others_changed_meanwhile(gateway: Gateway) -> None:
    ana = await create(gateway, "contacts", phone="5511999990001", name="Ana", custom={"size": "M"})
    async with visiting(gateway) as visitor:
        await visitor.sign_in(f"/contacts?contact={ana}")
        panel = visitor.page.get_by_role("dialog", name="Contact", exact=True)
        await panel.get_by_label("Value of size").fill("L")
        await visitor.page.keyboard.press("Escape")  # neither closes what is not saved
        await visitor.page.mouse.click(5, 5)
        change = {"opted_out": True, "custom": {"city": "Lisbon"}}
        assert (await gateway.call("PATCH", f"{CONTACTS}/{ana}", change)).status == 200
        await expect(panel.get_by_text("Opted out of marketing")).to_have_count(2)  # the form, and what is known
        await panel.get_by_label("Name", exact=True).fill("Ana Maria")
        await gateway.call("PATCH", f"{CONTACTS}/{ana}", {"name": "Anna"})
        await visitor.see("Somebody else has changed this meanwhile, to “Anna”. Saving replaces their change.")
        await panel.get_by_role("button", name="Save").click()
        await visitor.see("The contact is changed.")
        await expect(panel.get_by_text("Somebody else")).to_have_count(0)
        await visitor.page.keyboard.press("Escape")
        await expect(panel).to_have_count(0)
    saved = (await gateway.call("GET", f"{CONTACTS}/{ana}")).json()["data"]
    assert (saved["name"], saved["custom"]) == ("Ana Maria", {"city": "Lisbon", "size": "L"})
    assert saved["opted_out"]


async def test_a_table_with_a_bad_line_is_imported(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/contacts")
        page = visitor.page
        await visitor.choose("Import and export", "Import a table")
        table = f"phone,name,city\n5511999990001,Ana,Lisbon\n+5511,{EVIL},Porto\n"
        await page.get_by_label("Table").set_input_files(
            {"name": "people.csv", "mimeType": "text/csv", "buffer": table.encode()}
        )
        bad = page.get_by_role("row").filter(has_text="+5511")
        await expect(bad.get_by_role("cell").first).to_have_text("3")
        await expect(page.get_by_role("definition")).to_have_text(["1", "0", "0", "1"])
        async with page.expect_download() as download:
            await page.get_by_role("button", name="Download").click()
        errors = (await (await download.value).path()).read_text()
        assert errors.splitlines()[1].startswith("3,'+5511,invalid_phone,")
        await page.get_by_role("button", name="Import another file").click()
        await page.get_by_label("Table").set_input_files(
            {"name": "wrong.csv", "mimeType": "text/csv", "buffer": b"name\nAna\n"}
        )
        await expect(page.get_by_role("alert")).to_contain_text("phone")
        await page.get_by_role("dialog").get_by_role("button", name="Close").wait_for()  # so it can be closed
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_be_hidden()
        await visitor.see("Ana")
        async with page.expect_download() as download:
            await visitor.choose("Import and export", "Export all contacts")
        assert "5511999990001,Ana" in (await (await download.value).path()).read_text()


async def test_search_filters_and_a_long_list(gateway: Gateway) -> None:
    lines = "".join(f"55119{i:08},Person {i:03}\n" for i in range(350))
    headers = {"content-type": "text/csv"}
    await gateway.call("POST", f"{CONTACTS}/import", headers=headers, raw=f"phone,name\n{lines}".encode())
    vip = await create(gateway, "labels", name=EVIL)
    ana = await create(gateway, "contacts", phone="351900000001", name=f"Ana {EVIL}", opted_out=True)
    await gateway.call("PUT", f"{CONTACTS}/{ana}/labels/{vip}")
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/contacts")
        page = visitor.page
        rows = page.get_by_role("list", name="Contacts").get_by_role("listitem")
        await expect(rows.first).to_contain_text(f"Ana {EVIL}")
        await expect(rows.first).to_contain_text("Opted out")
        await rows.first.hover()
        last = ""
        async with patience(lambda: f"the last contact of the list is not that of the first line, but {last}"):
            while not await rows.filter(has_text="Person 000").count():
                last = await rows.last.inner_text()
                await page.mouse.wheel(0, 4000)
                await page.evaluate("new Promise(requestAnimationFrame)")
        assert await rows.count() < 60
        await page.get_by_label("Name or number").fill("+55 119 0000 0042")
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text("Person 042")
        await page.get_by_role("button", name="Clear the search").click()
        await page.get_by_role("combobox", name="Label").click()
        await page.get_by_role("option", name=EVIL).click()
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text(f"Ana {EVIL}")
        browser = await page.context.new_cdp_session(page)
        await browser.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
        await page.reload()
        await expect(rows.first).to_have_css("height", "128px")  # as large as the letters need
        await rows.first.get_by_role("button").click()
        await expect(page.get_by_role("dialog", name="Contact", exact=True)).to_contain_text(f"Ana {EVIL}")
        assert await page.title() == "Contacts – Gatepost"


async def test_labels_are_added_changed_and_deleted(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/contacts/labels")
        page = visitor.page
        await page.get_by_role("button", name="Add a label").click()
        await page.get_by_label("Name").fill(EVIL)
        await page.get_by_role("button", name="Add", exact=True).click()
        row = page.get_by_role("list", name="Labels").get_by_role("listitem")
        await expect(row).to_contain_text(EVIL)
        await page.get_by_role("button", name="Edit").click()
        await page.get_by_label("Name").fill("VIP")
        await page.get_by_label("Colour").fill("#123456")
        await page.get_by_role("button", name="Save").click()
        await expect(row).to_contain_text("VIP")
        label = (await gateway.call("GET", "/api/v1/labels")).json()["data"][0]
        assert (label["name"], label["color"]) == ("VIP", "#123456")
        await page.get_by_role("button", name="Delete VIP").click()
        await page.get_by_role("button", name="Delete", exact=True).click()
        await visitor.see("No labels yet")


async def test_a_reader_sees_contacts_and_changes_none(gateway: Gateway) -> None:
    await create(gateway, "contacts", phone="5511999990001", name="Ana", custom={"city": "Lisbon"})
    await add_person(gateway, "reader", "rita@example.com")
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/contacts", "rita@example.com")
        page = visitor.page
        await page.get_by_role("listitem").get_by_role("button").click()
        panel = page.get_by_role("dialog", name="Contact", exact=True)
        await expect(panel).to_contain_text("Lisbon")
        await expect(panel.get_by_role("textbox")).to_have_count(0)
        await expect(panel.get_by_role("button", name="Actions for this contact")).to_have_count(0)
        await expect(page.get_by_role("button", name="Add a contact")).to_have_count(0)
