#!/usr/bin/env python3
"""Lays out the pages of the site for mdBook, with links from page to page.

    lay_out.py SRC_DIR

The documents keep the links that work beside the code; here each becomes a link to a page, or to a copy of the file.
"""

import os
import re
import shutil
import sys
from html import escape
from pathlib import Path, PurePosixPath

import reference

ROOT = Path(__file__).resolve().parents[3]
BOOK = PurePosixPath("docs/book/src")
# Code, in which nothing is a link; then a link or the path of an image.
LINK = re.compile(r"(?P<code>^```.*?^```|`+[^`]*`+)|(?P<text>\]\()(?P<target>[^)\s]+)\)", re.DOTALL | re.MULTILINE)
INCLUDE = re.compile(r"\{\{#include ([^}:]+)(:\w+)?\}\}")
# What only check.sh needs: a language may be followed by how the block is run.
FENCE = re.compile(r"^```(\w+) .*$", re.MULTILINE)
# What theme/diagrams.js draws.
DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def pages() -> dict[str, str]:
    """The page of each document, both as paths."""
    found = {path.relative_to(ROOT / BOOK).as_posix(): path for path in (ROOT / BOOK).rglob("*.md")}
    found |= {f"documents/{path.name}": path for path in (ROOT / "docs").glob("*.md")}
    for part in "api", "operations":
        found |= {f"documents/{part}/{path.name}": path for path in (ROOT / "docs" / part).glob("*.md")}
    found |= {f"decisions/{path.name}": path for path in (ROOT / "docs/decisions").glob("*.md")}
    for client in "python", "typescript":
        found[f"clients/{client}.md"] = ROOT / "clients" / client / "README.md"
    return {path.relative_to(ROOT).as_posix(): page for page, path in found.items()}


def heading(path: Path) -> str:
    return re.search(r"^# (.*)$", path.read_text(), re.MULTILINE)[1]


class Layout:
    def __init__(self, out: Path) -> None:
        self.out, self.pages, self.broken = out, pages(), []

    def write(self, page: str, text: str) -> None:
        path = self.out / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def rewritten(self, source: str, page: str) -> str:
        """The text of a document, with its links as its page needs them."""

        def include(found: re.Match) -> str:
            path = (ROOT / source).parent / found[1]
            return f"{{{{#include {path.resolve()}{found[2] or ''}}}}}"

        def link(found: re.Match) -> str:
            target = found["target"]
            if found["code"] or re.match(r"[a-z]+:|#", target):
                return found[0]
            path, _, anchor = target.partition("#")
            path = os.path.normpath(PurePosixPath(source).parent / path)
            to = self.page_of(path)
            if to is None:
                self.broken.append(f"{source}: {target}")
                return found[0]
            to = os.path.relpath(to, PurePosixPath(page).parent)
            return f"]({to}{'#' + anchor if anchor else ''})"

        text = LINK.sub(link, INCLUDE.sub(include, (ROOT / source).read_text()))
        text = DIAGRAM.sub(lambda found: f'<pre class="mermaid">\n{escape(found[1])}</pre>', text)
        # What mdBook highlights with has no `tsx`.
        return FENCE.sub(r"```\1", text).replace("\n```tsx\n", "\n```typescript\n")

    def page_of(self, path: str) -> str | None:
        """The page that shows a path, or the copy of a file, or of the README of a directory."""
        if path in ("README.md", "."):
            return "index.md"
        if path.startswith(f"{BOOK}/reference/"):
            return path.removeprefix(f"{BOOK}/")
        for known in path, f"{path}/README.md":
            if known in self.pages:
                return self.pages[known]
        if path == "docs/decisions":
            return "decisions.md"
        if (ROOT / path / "README.md").is_file():
            path += "/README.md"
        # What is beside the pages is copied as a whole.
        if path.startswith(f"{BOOK}/") and not path.endswith(".md") and (ROOT / path).is_file():
            return path.removeprefix(f"{BOOK}/")
        if not (ROOT / path).is_file():
            return "index.md" if (ROOT / path).is_dir() else None
        copy = self.out / "files" / f"{path}.txt"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, copy)
        return f"files/{path}.txt"


def main() -> None:
    layout = Layout(Path(sys.argv[1]))
    shutil.copytree(ROOT / BOOK, layout.out, ignore=shutil.ignore_patterns("*.md"))
    for source, page in layout.pages.items():
        layout.write(page, layout.rewritten(source, page))
    decisions = sorted((ROOT / "docs/decisions").glob("*.md"))
    listed = [f"[{path.name[:4]} {heading(path)}](decisions/{path.name})" for path in decisions]
    layout.write("decisions.md", "# Decisions\n\nWhy things are as they are.\n\n" + "".join(f"- {entry}\n" for entry in listed))
    operations = reference.pages(reference.document(ROOT))
    for name, (_, text) in operations.items():
        layout.write(f"reference/{name}.md", text)
    layout.write("reference/index.md", reference.index(operations))
    summary = (layout.out / "SUMMARY.md").read_text()
    chapters = {
        "decisions": "".join(f"    - {entry}\n" for entry in listed),
        "reference": "".join(f"    - [{title}](reference/{name}.md)\n" for name, (title, _) in operations.items()),
    }
    for name, entries in chapters.items():
        assert f"<!-- {name} -->\n" in summary, name
        summary = summary.replace(f"<!-- {name} -->\n", entries)
    layout.write("SUMMARY.md", summary)
    missing = [page for page in layout.pages.values() if page != "SUMMARY.md" and f"]({page})" not in summary]
    layout.broken += [f"SUMMARY.md: {page} is missing" for page in missing]
    if layout.broken:
        sys.exit("\n".join(["these links lead nowhere:", *layout.broken]))


if __name__ == "__main__":
    main()
