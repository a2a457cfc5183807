"""What traces cost an append over HTTP.

    local-mongod run -- python tests/traces/cost.py REPRISE [ROUNDS]

Runs three services on one mongod, without traces, with every twentieth request traced and with every one, and a collector that
throws away what it receives. In each round wrk appends messages of 1 kB to a chat of each service, one after the other, in an order
that changes. Prints the median of a request, and the ratios of the rounds with the 95 % interval of their median. Needs wrk.
"""

import http.server
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

SECONDS = 4
RATIOS = {"off": None, "0.05": 0.05, "1": 1}
MESSAGE = {"messages": [{"role": "user", "name": "user", "content": "word " * 200}]}


class Collector(http.server.BaseHTTPRequestHandler):
    received = 0

    def do_POST(self):
        Collector.received += len(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    binary = os.path.realpath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{collector.server_port}/v1/traces"
    services = {name: Service(binary, endpoint, ratio) for name, ratio in RATIOS.items()}
    try:
        times = {name: [] for name in services}
        for number in range(rounds + 1):
            names = list(services)
            random.Random(number).shuffle(names)
            for name in names:
                taken = services[name].round(number)
                # The first round warms up.
                if number:
                    times[name].append(taken)
        print(f"received by the collector: {Collector.received:,} bytes")
        for name, taken in times.items():
            ratios = [it / base for it, base in zip(taken, times["off"])]
            low, high = interval(ratios)
            print(
                f"traces {name:>4}: {statistics.median(taken) * 1000:.3f} ms for an append; times without traces: "
                f"median {statistics.median(ratios):.3f}, 95 % {low:.3f} to {high:.3f}"
            )
    finally:
        for service in services.values():
            service.process.terminate()


def interval(values, draws=10_000):
    """The 95 % interval of the median, by resampling."""
    random_numbers = random.Random(1)
    medians = sorted(
        statistics.median(random_numbers.choices(values, k=len(values))) for _ in range(draws)
    )
    return medians[int(draws * 0.025)], medians[int(draws * 0.975)]


class Service:
    def __init__(self, binary, endpoint, ratio):
        environment = dict(os.environ)
        environment |= {
            "REPRISE__MONGO__URI": os.environ["MONGODB_URI"],
            "REPRISE__SERVER__LISTEN": "127.0.0.1:0",
            "REPRISE__LOG__FILTER": "warn",
            "REPRISE__SEARCH__ENABLED": "false",
        }
        if ratio is not None:
            environment |= {"REPRISE__TRACES__ENDPOINT": endpoint, "REPRISE__TRACES__SAMPLE_RATIO": str(ratio)}
        self.process = subprocess.Popen([binary, "serve"], env=environment, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().removeprefix("listening on ").strip()
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{self.url}/api/health/ready").read()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the service is not ready")

    def round(self, number):
        """Appends for a while; returns the seconds of one append."""
        chat = json.dumps({"workflow_name": "Cost"}).encode()
        headers = {"content-type": "application/json"}
        created = urllib.request.urlopen(urllib.request.Request(f"{self.url}/api/chats/cost", chat, headers))
        chat_id = json.load(created)["chat_id"]
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            body = json.dumps(MESSAGE).replace("\\", "\\\\").replace("'", "\\'")
            script.write(f"wrk.method = 'POST'\nwrk.body = '{body}'\nwrk.headers['Content-Type'] = 'application/json'\n")
            script.flush()
            command = ["wrk", "-t1", "-c1", f"-d{SECONDS}s", "-s", script.name, f"{self.url}/api/chats/cost/{chat_id}/messages"]
            said = subprocess.check_output(command, text=True)
        if "Non-2xx" in said:
            raise RuntimeError(said)
        return 1 / float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1))


main()
