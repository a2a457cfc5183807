#!/usr/bin/env python3
"""Checks that every link of a built site leads to a file that is there, and to an anchor that it has.

    check_links.py SITE_DIR

Links to other sites are not followed.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        self.links += [given[name] for name in ("href", "src") if given.get(name)]


def broken(site: Path) -> list[str]:
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].ids):
                found.append(f"{path.relative_to(site)}: {link}")
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(found)} broken")
    return found


if __name__ == "__main__":
    found = broken(Path(sys.argv[1]).resolve())
    if found:
        sys.exit("\n".join(sorted(set(found))))
