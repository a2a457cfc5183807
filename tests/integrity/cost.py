"""What signing costs an append over HTTP.

    local-mongod run -- python tests/integrity/cost.py REPRISE [ROUNDS]

Runs two services on one mongod, each with its own database, with a key and without; passes are a second apart. In each round
one writer appends messages of 1 kB to the sixteen chats of each service in turn, one service after the other, in an order
that changes. Prints the median of the rounds for an append, and the ratio of the rounds with the 95 % interval of its median.
Only a quiet machine gives numbers that mean anything.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from service import Service, create_key

CHATS = 16
APPENDS = 400
INTERVAL_MS = 1000
CONTENT = "word " * 200


def main() -> None:
    binary = Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    services: dict[str, Service] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, key in {"without": None, "with": create_key(Path(folder))}.items():
                services[name] = Service(binary, f"cost_{name}", key, INTERVAL_MS)
            report(measure(services, rounds))
        finally:
            for service in services.values():
                service.close()


def measure(services: dict[str, Service], rounds: int) -> dict[str, list[float]]:
    """Returns the seconds of an append in each round, with a key and without."""
    chats = {name: [service.create_chat() for _ in range(CHATS)] for name, service in services.items()}
    times: dict[str, list[float]] = {name: [] for name in services}
    for number in range(rounds + 1):
        names = list(services)
        random.Random(number).shuffle(names)
        for name in names:
            began = time.perf_counter()
            for n in range(APPENDS):
                services[name].append(chats[name][n % CHATS], CONTENT)
            # The first round warms up.
            if number:
                times[name].append((time.perf_counter() - began) / APPENDS)
    # Without a pass there would be nothing to measure.
    services["with"].wait_until_signed(chats["with"][0], (rounds + 1) * APPENDS // CHATS - 1)
    return times


def report(times: dict[str, list[float]]) -> None:
    """Prints the result."""
    for name, taken in times.items():
        print(f"{name + ' a key':>13}: {statistics.median(taken) * 1000:.3f} ms for an append")
    ratios = [signing / plain for signing, plain in zip(times["with"], times["without"], strict=True)]
    low, high = interval(ratios)
    print(f"with a key / without: median {statistics.median(ratios):.3f}, 95 % {low:.3f} to {high:.3f}")


def interval(values: list[float], draws: int = 10_000) -> tuple[float, float]:
    """The 95 % interval of the median, by resampling."""
    random_numbers = random.Random(1)
    medians = sorted(statistics.median(random_numbers.choices(values, k=len(values))) for _ in range(draws))
    return medians[int(draws * 0.025)], medians[int(draws * 0.975)]


if __name__ == "__main__":
    main()
