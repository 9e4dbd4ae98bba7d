"""Every link between the pages of the repository leads to a file, and to a heading of that file."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("packages/*/*.md"))]
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Return the links of a page to other pages, as a path and an anchor; code is left out."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return (
        (path, anchor) for path, anchor in LINK.findall(text) if "://" not in path and not path.startswith("mailto:")
    )


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page: Path) -> list[str]:
    found = []
    for path, anchor in links(page):
        aim = (page.parent / path).resolve() if path else page
        if not aim.exists() or (anchor and anchor not in anchors(aim)):
            found.append(f"{page.relative_to(ROOT)}: {path}#{anchor}")
    return found


def test_every_link_works() -> None:
    assert len(PAGES) > 50
    assert [line for page in PAGES if page.name != "CHANGELOG.md" for line in broken(page)] == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n[a](#a-page) [b](page.md#a-page) [c](https://example.com/x) `[d](nothing.md)`\n")
    assert [path for path, anchor in links(page)] == ["", "page.md"]
    assert {anchor for _, anchor in links(page)} <= anchors(page)
