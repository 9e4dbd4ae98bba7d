"""The browser of the tests: Debian's Chromium, driven by Playwright, which brings none of its own."""

import shutil

FLAGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def find_browser() -> str:
    """Return the path of Chromium. Without it a test fails, and says how to install it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found, "The tests of the dashboard need Chromium on the PATH. Install it: apt install chromium"
    return found
