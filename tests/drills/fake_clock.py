"""The clock of one process, which a case sets while the process runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from processes import ROOT

LIBRARY = "libfaketimeMT.so.1"
HOUR_SEC = 3600


def find_library() -> Path | None:
    """Returns the library that changes clocks: the one that `FAKETIME` names, an installed one, or that of Debian's package."""
    if named := os.environ.get("FAKETIME"):
        return Path(named)
    unpacked = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "faketime"
    for folder in (Path("/usr/lib"), unpacked):
        if found := sorted(folder.glob(f"**/faketime/{LIBRARY}")):
            return found[0]
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return None
    unpacked.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", "libfaketime"], cwd=unpacked, capture_output=True)
    for package in unpacked.glob("libfaketime_*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, unpacked], check=True)
    return next(iter(sorted(unpacked.glob(f"**/faketime/{LIBRARY}"))), None)


class Clock:
    """The clock of a process. Only the time of day changes: durations are measured by another clock, as on any machine."""

    def __init__(self, library: Path, file: Path) -> None:
        self._file = file
        self.set(0)
        self.environment = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_NO_CACHE": "1",
        }

    def set(self, ahead_sec: int) -> None:
        """Sets the clock to some seconds ahead of the true time, or behind it."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{ahead_sec:+d}\n")
        new.rename(self._file)
