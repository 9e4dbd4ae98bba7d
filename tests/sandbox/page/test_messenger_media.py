"""Videos, stickers, voice messages, cards and offers on the phones, and the page under a finger."""

import base64
import re
from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect
from pyreqwest.client import Client

from tests.sandbox.driver import NUMBER, Driver, Receiver
from tests.sandbox.messages.payloads import LINK
from tests.sandbox.page.chatting import (
    ANA,
    ANAS_CHAT,
    attach,
    attach_file,
    begin,
    bubble,
    drop,
    paste,
    png,
    received,
    sound,
    write,
)
from tests.sandbox.page.viewer import Viewer, viewing
from tests.sandbox.templates import approved, body, buttons, draft, link, quick
from tests.sandbox.test_media import Files

MICROPHONE = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
SOME_SECONDS = re.compile(r"0:(0[1-9]|[1-5]\d)")
# A film of a few frames, as the browser itself records it.
FILM = """async () => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 64, height: 48});
    const recorder = new MediaRecorder(canvas.captureStream(20), {mimeType: "video/webm;codecs=vp8"});
    const pieces = [];
    recorder.ondataavailable = (event) => pieces.push(event.data);
    const stopped = new Promise((done) => { recorder.onstop = done; });
    recorder.start(50);
    for (let frame = 0; frame < 400 && pieces.length < 6; frame++) {
        canvas.getContext("2d").fillRect(frame, frame, 9, 9);
        await new Promise((done) => requestAnimationFrame(done));
    }
    recorder.stop();
    await stopped;
    const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
    return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
}"""
STICKER = """() => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 512, height: 512});
    canvas.getContext("2d").fillRect(90, 90, 300, 300);
    return canvas.toDataURL("image/webp").split(",")[1];
}"""


async def send(viewer: Viewer) -> None:
    await viewer.button("Send").click()
    await expect(viewer.page.get_by_role("dialog")).to_have_count(0)


async def test_videos_and_stickers_of_both_sides(sandbox: Driver, receiver: Receiver, client: Client) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base) as viewer:
        page, files = viewer.page, Files(client, sandbox)
        await viewer.open(ANAS_CHAT)
        film, sticker = [base64.b64decode(await page.evaluate(made)) for made in (FILM, STICKER)]
        await attach(page, "Photo or video", "walk.webm", "video/webm", film)
        await expect(page.get_by_role("dialog").locator("video")).to_have_js_property("videoWidth", 64)
        await page.get_by_label("Caption").fill("A walk")
        await send(viewer)
        video = (await received(receiver, "video"))["video"]
        assert (video["mime_type"], video["caption"]) == ("video/webm", "A walk")
        player = bubble(page, "A walk").locator("video")
        await expect(player).to_have_js_property("videoWidth", 64)
        await player.evaluate("one => one.play()")

        await attach(page, "Sticker", "smile.webp", "image/webp", sticker)
        await send(viewer)
        assert (await received(receiver, "sticker"))["sticker"]["mime_type"] == "image/webp"
        await expect(page.get_by_role("img", name="Sticker")).to_have_js_property("naturalWidth", 512)

        uploaded = (await files.upload("image/webp", sticker)).json["id"]
        await write(sandbox, "sticker", {"id": uploaded})
        await expect(page.get_by_role("img", name="Sticker")).to_have_count(2)
        broken = (await files.upload("video/mp4", b"\0\0\0\x18ftypmp42")).json["id"]
        await write(sandbox, "video", {"id": broken, "caption": "Not a film"})
        await bubble(page, "Not a film").get_by_role("link", name="Download").wait_for()
        await write(sandbox, "video", {"link": "https://example.com/film.mp4", "caption": "Elsewhere"})
        await expect(bubble(page, "Elsewhere").get_by_role("link")).to_have_attribute(
            "href", "https://example.com/film.mp4"
        )


async def test_a_file_that_is_too_large_or_empty_is_refused_in_words(
    sandbox: Driver, receiver: Receiver, tmp_path: Path
) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base) as viewer:
        await viewer.open(ANAS_CHAT)
        for name, size in {"all.zip": 16_000_001, "none.txt": 0, "most.zip": 16_000_000}.items():
            (tmp_path / name).write_bytes(bytes(size))
        await attach_file(viewer.page, "File", tmp_path / "all.zip")
        await viewer.see("all.zip has 16.0 MB; the sandbox takes at most 16.0 MB. Choose a smaller file.")
        await expect(viewer.page.get_by_role("dialog")).to_have_count(0)
        await attach_file(viewer.page, "File", tmp_path / "none.txt")
        await viewer.see("none.txt is empty.")
        await attach_file(viewer.page, "File", tmp_path / "most.zip")
        await send(viewer)
        assert (await received(receiver, "document"))["document"]["filename"] == "most.zip"


async def test_a_voice_message_is_played_only_when_it_is_played(
    sandbox: Driver, receiver: Receiver, client: Client
) -> None:
    await begin(sandbox)
    uploaded = (await Files(client, sandbox).upload("audio/ogg", sound())).json["id"]
    async with viewing(sandbox.base, flags=["--autoplay-policy=no-user-gesture-required"]) as viewer:
        await viewer.open(ANAS_CHAT)
        await viewer.see("No messages yet")
        await write(sandbox, "audio", {"id": uploaded, "voice": True})
        await received(receiver, "read")
        play = viewer.button("Play voice message")
        await expect(play).to_be_enabled()
        assert "played" not in receiver.labels()
        await play.click()
        await received(receiver, "played")
        await viewer.button("Play voice message").wait_for()  # it has ended
        await play.click()
        await write(sandbox, "text", {"body": "Heard it?"})
        await received(receiver, "read", 2)
        assert receiver.labels().count("played") == 1


async def test_a_voice_message_is_recorded_as_phones_do(sandbox: Driver, receiver: Receiver) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base, flags=MICROPHONE) as viewer:
        page = viewer.page
        await viewer.open(ANAS_CHAT)
        record = viewer.button("Record a voice message")
        await record.click()
        await viewer.button("Cancel the recording").click()
        await record.click()
        await expect(page.locator(".recording")).to_contain_text(SOME_SECONDS)
        await viewer.button("Send the voice message").click()
        audio = (await received(receiver, "audio"))["audio"]
        assert (audio["voice"], audio["mime_type"]) == (True, "audio/ogg; codecs=opus")
        await expect(page.locator(".audio-time").last).to_have_text(SOME_SECONDS)  # it could be decoded
        await page.locator("audio").evaluate("audio => (audio.playbackRate = 0.1)")  # so that it does not end at once
        await viewer.button("Play voice message").click()
        await viewer.button("Pause voice message").wait_for()
        await expect(page.get_by_role("article")).to_have_count(1)  # the recording that was cancelled was not sent
        [message] = (await sandbox.control("GET", f"chats/{ANA}/{NUMBER}"))["messages"]
        assert (await sandbox.call("GET", message["view"]["media"]["url"])).raw.startswith(b"OggS")


async def send_template(sandbox: Driver, template: dict[str, Any], *components: dict[str, Any]) -> None:
    await approved(sandbox, template)
    language = {"code": template["language"]}
    sent = {"name": template["name"], "language": language, "components": list(components)}
    await write(sandbox, "template", sent)


async def send_carousel(sandbox: Driver) -> None:
    handle = {"header_handle": ["4::aW"]}
    header = {"type": "HEADER", "format": "IMAGE", "example": handle}
    card = {"components": [header, body("Shoe {{1}} for you", "red"), buttons(quick("Buy"))]}
    cards = [
        {
            "card_index": place,
            "components": [
                {"type": "header", "parameters": [{"type": "image", "image": {"link": f"{LINK}{place}"}}]},
                {"type": "body", "parameters": [{"type": "text", "text": colour}]},
                {
                    "type": "button",
                    "sub_type": "quick_reply",
                    "index": 0,
                    "parameters": [{"type": "payload", "payload": f"buy-{colour}"}],
                },
            ],
        }
        for place, colour in enumerate(("red", "blue"))
    ]
    template = draft(body("Look"), {"type": "CAROUSEL", "cards": [card, card]}, category="MARKETING", name="shoes")
    await send_template(sandbox, template, {"type": "carousel", "cards": cards})


async def send_offer(sandbox: Driver) -> None:
    offer = {"type": "LIMITED_TIME_OFFER", "limited_time_offer": {"text": "Only today", "has_expiration": True}}
    template = draft(
        offer, body("Shoes"), buttons({"type": "COPY_CODE", "example": "SAVE"}, link()), category="MARKETING"
    )
    now = (await sandbox.control("GET", "clock"))["now"]
    ends = {"type": "limited_time_offer", "limited_time_offer": {"expiration_time_ms": int(now + 900) * 1000}}
    code = {"type": "coupon_code", "coupon_code": "TEN"}
    await send_template(
        sandbox,
        template,
        {"type": "limited_time_offer", "parameters": [ends]},
        {"type": "button", "sub_type": "copy_code", "index": 0, "parameters": [code]},
    )


async def test_cards_and_an_offer_that_ends(sandbox: Driver, receiver: Receiver) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base) as viewer:
        page = viewer.page
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=sandbox.base)
        await viewer.open(ANAS_CHAT)
        await send_carousel(sandbox)
        cards = page.get_by_role("list", name="Cards").locator("> li")
        await expect(cards).to_have_count(2)
        await expect(cards.nth(1)).to_contain_text("Shoe blue for you")
        await cards.nth(1).get_by_role("button", name="Buy").click()
        assert (await received(receiver, "button"))["button"] == {"payload": "buy-blue", "text": "Buy"}

        await send_offer(sandbox)
        offer = page.locator(".offer-card")
        await expect(offer).to_contain_text("Only today")
        await expect(offer).to_contain_text("Ends Today")
        await page.get_by_role("button", name="Copy").click()
        await viewer.see("Copied: TEN")
        assert await page.evaluate("navigator.clipboard.readText()") == "TEN"
        assert await viewer.accessibility_problems("carousel and offer") == []
        await sandbox.control("POST", "clock", {"advance": 901})
        await expect(offer).to_contain_text("Expired")


async def hold(page: Page, text: str) -> None:
    """Press on a message with a finger until its actions open."""
    box = await bubble(page, text).bounding_box()
    assert box is not None
    client = await page.context.new_cdp_session(page)
    point = {"x": box["x"] + 12, "y": box["y"] + 12}
    await client.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    await page.get_by_role("dialog", name="Message").wait_for()
    await client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


async def test_a_finger_reacts_by_a_long_press(sandbox: Driver, receiver: Receiver) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base, width=360, touch=True) as viewer:
        page = viewer.page
        await viewer.open(ANAS_CHAT)
        await viewer.see("No messages yet")
        wamid = await write(sandbox, "text", {"body": "Press me"})
        await viewer.see("Press me")
        await hold(page, "Press me")
        await page.get_by_role("button", name="React with ❤️").tap()
        assert (await received(receiver, "reaction"))["reaction"] == {"message_id": wamid, "emoji": "❤️"}
        await expect(page.get_by_label("Reactions")).to_have_text("❤️")
        await hold(page, "Press me")
        await page.get_by_role("button", name="Remove ❤️").tap()
        assert (await received(receiver, "reaction", 2))["reaction"].get("emoji", "") == ""
        await expect(page.get_by_label("Reactions")).to_have_count(0)


async def test_a_picture_is_pasted_or_dropped_into_a_chat(sandbox: Driver, receiver: Receiver) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base) as viewer:
        await viewer.open(ANAS_CHAT)
        await paste(viewer.page, "Message", png())
        await send(viewer)
        assert (await received(receiver, "image"))["image"]["mime_type"] == "image/png"
        assert await drop(viewer.page.get_by_role("article").first, png())  # else the browser leaves the page for it
        assert await drop(viewer.page.get_by_label("Message", exact=True), png())
        await send(viewer)
        assert (await received(receiver, "image", 2))["image"]["mime_type"] == "image/png"
