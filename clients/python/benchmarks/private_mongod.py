"""The private mongod of a service, for the stores that are measured beside it."""

from __future__ import annotations

from pathlib import Path

#: The only database that the user of a private mongod may write.
DATABASE = "reprise"


def mongo_uri(data_dir: Path) -> str:
    """Returns the address of the private mongod of a service, with its password, for writes with majority and journal."""
    secrets = dict(line.split(" ", 1) for line in (data_dir / "credentials").read_text().splitlines())
    port = (data_dir / "member-0" / "port").read_text().strip()
    where = f"{secrets['user']}:{secrets['password']}@127.0.0.1:{port}"
    return f"mongodb://{where}/?authSource=admin&directConnection=true&w=majority&journal=true"
