"""The browser of the tests: Debian's Chromium, driven by Playwright, which brings none of its own."""

import shutil

# The headless shell is Chromium without its windows. It renders the same, with a sixth less work.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

# Each window of Chromium, also without a screen, has an address bar whose suggestions are two pages in a process of
# their own, loaded for each new context: a tenth of the browser's time.
_SUGGESTIONS = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"]
# Playwright's own list, which ours replaces: Chromium obeys the last one only.
_PLAYWRIGHTS = [
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
]
FLAGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-features=" + ",".join(_PLAYWRIGHTS + _SUGGESTIONS),
]


def find_browser() -> str:
    """Return the path of Chromium. Without it a test fails, and says how to install it."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    assert found, (
        "The tests of the dashboard need Chromium on the PATH. Install it: apt install chromium-headless-shell"
    )
    return found
