"""The page about orders, in a real browser, with an order from the sandbox."""

from playwright.async_api import expect

from tests.console.visitor import add_person, visiting
from tests.gateway.test_orders import ORDERS, order
from tests.running_gateway import Gateway

EVIL = '<img src=x onerror="document.title=1">'


async def test_an_order_is_shown_with_its_total_and_moved_on(gateway: Gateway) -> None:
    made = await order(gateway)
    await gateway.call("PATCH", f"/api/v1/contacts/{made['contact']['id']}", {"name": EVIL})
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/orders")
        page = visitor.page
        row = page.get_by_role("row").filter(has_text=EVIL)
        await expect(row).to_contain_text("€3.30")
        await row.get_by_role("button").click()
        panel = page.get_by_role("dialog", name="Order", exact=True)
        await expect(panel.get_by_role("row").nth(1)).to_have_text("bread3€1.10€3.30")
        await expect(panel).to_contain_text("Please")
        await panel.get_by_role("button", name="Confirm").click()
        await panel.get_by_text("Confirmed", exact=True).wait_for()
        changes = []
        page.on("request", lambda request: changes.append(request.method))
        # The second click of a double click, at what is there by then.
        await panel.get_by_role("button", name="Mark as shipped").dispatch_event("click", {"detail": 2})
        assert (await gateway.call("GET", f"{ORDERS}/{made['id']}")).json()["data"]["status"] == "confirmed"
        await panel.get_by_role("button", name="Cancel the order").click()
        question = page.get_by_role("dialog", name="Cancel the order")
        await question.wait_for()
        await page.keyboard.press("Escape")  # not the panel behind it
        await question.wait_for(state="hidden")
        await panel.get_by_role("button", name="Cancel the order").click()
        await question.get_by_role("button", name="Cancel the order").click()
        await panel.get_by_text("Canceled", exact=True).wait_for()
        assert changes.count("PATCH") == 1
        await expect(panel.get_by_role("button", name="Mark as shipped")).to_have_count(0)
        await page.keyboard.press("Escape")
        last = page.get_by_label("To", exact=True)
        await last.focus()
        await page.keyboard.type("01012020")
        await visitor.see("No order fits these filters")
        await expect(last).to_have_value("2020-01-01")
        await page.get_by_role("button", name="Clear").click()
        await row.wait_for()
        await expect(last).to_have_value("")
        await page.get_by_role("combobox", name="Status").click()
        await page.get_by_role("option", name="New").click()
        await visitor.see("No order fits these filters")
        assert await page.title() == "Orders – Gatepost"


async def test_a_reader_sees_orders_and_changes_none(gateway: Gateway) -> None:
    made = await order(gateway)
    await add_person(gateway, "reader", "rita@example.com")
    async with visiting(gateway) as visitor:
        # What makes no sense is left out.
        await visitor.sign_in(f"/orders?order={made['id']}&status=lost&from=never", "rita@example.com")
        panel = visitor.page.get_by_role("dialog", name="Order", exact=True)
        await expect(panel).to_contain_text("€3.30")
        await expect(panel.get_by_role("button", name="Confirm")).to_have_count(0)
        await visitor.page.keyboard.press("Escape")
        await expect(visitor.page.get_by_role("row")).to_have_count(2)
