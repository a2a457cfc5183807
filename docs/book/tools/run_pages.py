#!/usr/bin/env python3
"""Runs the code blocks of pages as a reader would, each page from nothing.

    run_pages.py BINARY [PAGE...]

What follows the language of a block says how it is run:

    sh                  in the terminal of the page
    sh fails            the same; it must fail
    sh background PORT  in a terminal of its own, until something listens on the port
    sh elsewhere        not here: the page says why, or another test runs it
    LANGUAGE file=NAME  is saved under this name
    text output         is what the commands before it have printed; `…` stands for anything

A comment `<!-- run: COMMAND -->` is run as well, but not shown.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "docs/book/src"
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$|^<!-- run: (.*?) -->$", re.DOTALL | re.MULTILINE)
PATIENCE_SEC = 60


class Wrong(Exception):
    pass


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Reader:
    """A person who follows a page in a directory of their own, with a service of their own."""

    def __init__(self, directory: Path, binary: Path) -> None:
        self.directory = directory / "reader"
        self.directory.mkdir()
        programs = directory / "bin"
        programs.mkdir()
        (programs / "reprise").symlink_to(binary)
        # The page names these; here each is free.
        self.ports = {"8080": str(free_port()), "3000": str(free_port()), "8090": str(free_port())}
        self.environment = {
            **os.environ,
            "HOME": str(directory),
            "XDG_DATA_HOME": str(directory / "data"),
            "REPRISE__SERVER__LISTEN": f"127.0.0.1:{self.ports['8080']}",
            "REPRISE_SRC": str(ROOT),
            # `cargo build --examples` leaves them beside the binary.
            "EXAMPLES": str(binary.parent / "examples"),
            "PYTHONPATH": str(ROOT / "clients/python/src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "NO_PROXY": "127.0.0.1",
        }
        # What was downloaded once is used again.
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.environment["XDG_CACHE_HOME"] = str(cache)
        self.processes: list[subprocess.Popen] = []
        self.shell = self.start(["bash", "-s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.run("set -euo pipefail")

    def start(self, command: list[str], **options) -> subprocess.Popen:
        process = subprocess.Popen(
            command, cwd=self.directory, env=self.environment, text=True, start_new_session=True, **options
        )
        self.processes.append(process)
        return process

    def here(self, text: str) -> str:
        for shown, port in self.ports.items():
            text = re.sub(rf"(127\.0\.0\.1:|localhost:|PORT=|listen\(){shown}\b", rf"\g<1>{port}", text)
        return text

    def shown(self, text: str) -> str:
        for shown, port in self.ports.items():
            text = text.replace(f":{port}", f":{shown}")
        return text.replace(str(self.directory), "~")

    def run(self, commands: str, *, fails: bool = False) -> str:
        """Runs commands in the terminal; returns what they print."""
        commands = self.here(commands)
        block = f"if {{ {commands}\n}}; then false; else true; fi" if fails else commands
        self.shell.stdin.write(f"{block}\necho\necho '@@ done'\n")
        self.shell.stdin.flush()
        lines = []
        while (line := self.shell.stdout.readline()) != "@@ done\n":
            if not line:
                raise Wrong("this failed:\n" + "".join(lines))
            # The shell itself says which of its commands was killed.
            if not re.match(r"bash: (line \d+: )? *\d+ (Killed|Terminated)", line):
                lines.append(line)
        return self.shown("".join(lines))

    def run_in_background(self, commands: str, port: str) -> None:
        log = open(self.directory / f".log-{port}", "w")
        process = self.start(["bash", "-c", self.here(commands)], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE_SEC
        while not self.answers(port):
            if process.poll() is not None or time.monotonic() > until:
                raise Wrong(f"nothing answers on port {port}:\n{Path(log.name).read_text()}")
            time.sleep(0.1)

    def answers(self, port: str) -> bool:
        url = f"http://127.0.0.1:{self.ports[port]}/{'api/health/ready' if port == '8080' else ''}"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return True
        except OSError:
            return False

    def leave(self) -> None:
        # The service stops its mongod.
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            process.wait(PATIENCE_SEC)


def matches(expected: str, printed: str) -> bool:
    """Whether a text is as expected, where `…` stands for anything, on a line of its own also for lines."""
    lines = [line.rstrip() for line in expected.strip().splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", ".*?") + r"\n" for line in lines)
    printed = "".join(f"{line.rstrip()}\n" for line in printed.strip().splitlines())
    return re.fullmatch(pattern, printed) is not None


def follow(page: Path, reader: Reader) -> int:
    """Does what a page says; returns the number of blocks that were run."""
    printed, count = "", 0
    text = page.read_text()
    for found in BLOCK.finditer(text):
        language, how, block, hidden = found.groups()
        words = (how or "").split()
        line = text.count("\n", 0, found.start()) + 1
        try:
            if hidden:
                printed = reader.run(hidden)
            elif words[:1] == ["elsewhere"]:
                continue
            elif words and words[0].startswith("file="):
                (reader.directory / words[0].removeprefix("file=")).write_text(reader.here(block))
            elif language == "text" and words == ["output"]:
                if not matches(block, printed):
                    raise Wrong(f"the page shows:\n{block}\nprinted was:\n{printed}")
            elif language == "sh" and words[:1] == ["background"]:
                reader.run_in_background(block, words[1])
            elif language == "sh" and words in ([], ["fails"]):
                printed = reader.run(block, fails=words == ["fails"])
            elif language in ("text", "json", "rust"):
                continue
            else:
                raise Wrong(f"it is not said how a block is run: {language} {how}")
            count += 1
        except Wrong as wrong:
            raise Wrong(f"{page.relative_to(ROOT)}:{line}: {wrong}") from None
    return count


def check_reference(reader: Reader) -> None:
    """The reference is made from what the tests keep; this service must say the same."""
    import reference

    kept = reference.document(ROOT)
    with urllib.request.urlopen(f"http://127.0.0.1:{reader.ports['8080']}/openapi.json") as response:
        served = reference.without_dialects(json.load(response))
    for document in kept, served:
        document["info"].pop("version")
    if kept != served:
        raise Wrong("the reference describes another service than this binary")


def main() -> None:
    binary, names = Path(sys.argv[1]), sys.argv[2:]
    pages = [SOURCES / name for name in names] or sorted(
        page for folder in ("tutorials", "how-to") for page in (SOURCES / folder).glob("*.md")
    )
    failures, is_checked = 0, False
    for page in pages:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            reader = Reader(Path(directory), binary)
            try:
                count = follow(page, reader)
                if not is_checked and reader.answers("8080"):
                    check_reference(reader)
                    is_checked = True
                print(f"{page.relative_to(SOURCES)}: {count} blocks, {time.monotonic() - started:.1f} s", flush=True)
            except Wrong as wrong:
                failures += 1
                print(wrong, file=sys.stderr, flush=True)
            finally:
                reader.leave()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
