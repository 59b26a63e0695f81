"""The local API: its start, its memory, small reads beside a bare NIO server, durable writes beside plain SQLite, files
beside nginx, deltas beside reads on another daemon.

Prints a Markdown table; see scripts/bench.sh.
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import time

import live_latency

HOST = "127.0.0.1"
FILE_BYTES = 64 << 20
RANGE_BYTES = 1 << 20
NGINX = """
daemon off;
master_process off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    types {{ audio/wav wav; }}
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen {host}:{port}; location / {{ root {root}; }} }}
}}
"""


def note(text):
    print(f"api: {text}", file=sys.stderr, flush=True)


class Daemon:
    """A running `peerd run` on a directory of its own."""

    def __init__(self, peerd, directory, port):
        self.directory = directory
        begin = time.perf_counter()
        self.process = subprocess.Popen(
            [peerd, "run", "--dir", directory, "--no-discovery", "--listen", f"{HOST}:0", "--http-port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.port = port
        while not self.is_ready():
            time.sleep(0.001)
        self.start_seconds = time.perf_counter() - begin
        with open(os.path.join(directory, "api"), encoding="utf-8") as file:
            self.headers = {"Authorization": "Bearer " + json.load(file)["token"]}

    def is_ready(self):
        try:
            connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def memory(self):
        with open(f"/proc/{self.process.pid}/smaps_rollup", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        return {name: int(fields[name].split()[0]) / 1024 for name in ("Rss", "Pss", "Anonymous")}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)


class Bench:
    def __init__(self, options):
        self.options = options
        self.work = os.path.abspath(os.path.join(options.cache, "api-work"))
        self.rows = []

    def row(self, what, value, bound=""):
        note(f"{what}: {value}")
        self.rows.append((what, value, bound))

    def directory(self, name):
        path = os.path.join(self.work, name)
        subprocess.run([self.options.peerd, "init", "--dir", path, "--name", name], check=True, capture_output=True)
        return path

    def wrk(self, port, path, headers):
        command = ["wrk", "-t1", f"-c{self.options.connections}", f"-d{self.options.seconds}s", "--latency"]
        for name, value in headers.items():
            command += ["-H", f"{name}: {value}"]
        command.append(f"http://{HOST}:{port}{path}")
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rate = next(float(line.split()[1]) for line in text.splitlines() if line.startswith("Requests/sec"))
        if "Non-2xx" in text:
            raise RuntimeError(text)
        return rate

    def run(self):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        try:
            self.measure()
        finally:
            shutil.rmtree(self.work, ignore_errors=True)
        print("| | measured | bound |\n|---|---|---|")
        for row in self.rows:
            print("| " + " | ".join(row) + " |")

    def measure(self):
        directory = self.directory("daemon")
        starts = []
        for _ in range(self.options.repeats):
            daemon = Daemon(self.options.peerd, directory, self.options.port)
            starts.append(daemon.start_seconds)
            daemon.stop()
        self.row("start until the first answer", f"{statistics.median(starts) * 1e3:.0f} ms", "50 ms")
        daemon = Daemon(self.options.peerd, directory, self.options.port)
        try:
            time.sleep(3)
            memory = daemon.memory()
            text = f"{memory['Rss']:.1f} MiB resident, {memory['Anonymous']:.1f} MiB of it not from files"
            self.row("idle daemon", text, "25 MiB")
            self.reads(daemon)
            self.writes(daemon)
            self.files(daemon)
        finally:
            daemon.stop()
        self.pushes()

    def reads(self, daemon):
        connection = http.client.HTTPConnection(HOST, daemon.port)
        body = json.dumps({"type": "item", "properties": {"title": "Milk", "done": False, "count": 3}})
        connection.request("POST", "/api/objects", body, daemon.headers)
        created = connection.getresponse()
        answer, path = created.read(), created.headers["Location"]
        latencies = []
        for _ in range(2000):
            begin = time.perf_counter()
            connection.request("GET", path, headers=daemon.headers)
            connection.getresponse().read()
            latencies.append(time.perf_counter() - begin)
        self.row("small read, p50", f"{statistics.median(latencies) * 1e6:.0f} µs", "1 ms")
        file = os.path.join(self.work, "answer")
        with open(file, "wb") as target:
            target.write(answer)
        port = self.options.port + 1
        with subprocess.Popen([self.options.bare, str(port), file], stdout=subprocess.PIPE, text=True) as bare:
            bare.stdout.readline()
            ratios, rates = [], []
            for _ in range(self.options.repeats):
                theirs = self.wrk(port, path, daemon.headers)
                ours = self.wrk(daemon.port, path, daemon.headers)
                ratios.append(ours / theirs)
                rates.append((ours, theirs))
            bare.kill()
        ours, theirs = (statistics.median(values) for values in zip(*rates))
        self.row(
            f"small reads a second, {self.options.connections} connections",
            f"{ours:,.0f}; a bare NIO server with the same bytes {theirs:,.0f}: {statistics.median(ratios):.2f} x",
            "0.5 x",
        )

    def writes(self, daemon):
        connection = http.client.HTTPConnection(HOST, daemon.port)
        connection.request("POST", "/api/objects", '{"type":"item"}', daemon.headers)
        created = connection.getresponse()
        created.read()
        path = created.headers["Location"] + "/properties/count"
        database = sqlite3.connect(os.path.join(self.work, "floor.sqlite"), isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE row (number INTEGER)")
        ours, floor = [], []
        for number in range(500):
            begin = time.perf_counter()
            connection.request("PUT", path, str(number), daemon.headers)
            connection.getresponse().read()
            ours.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            database.execute("INSERT INTO row VALUES (?)", (number,))
            floor.append(time.perf_counter() - begin)
        database.close()
        commit, write = statistics.median(floor), statistics.median(ours)
        self.row(
            "durable write over HTTP, p50",
            f"{write * 1e3:.2f} ms; one commit of SQLite {commit * 1e3:.2f} ms: {(write - commit) * 1e3:+.2f} ms",
            "+1 ms",
        )

    def files(self, daemon):
        nginx = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if nginx is None:
            note("the rows of files are left out: nginx is not installed")
            return
        root = os.path.join(daemon.directory, "files")
        os.makedirs(root, exist_ok=True)
        with open(os.path.join(root, "large.wav"), "wb") as file:
            for _ in range(FILE_BYTES >> 20):
                file.write(os.urandom(1 << 20))
        folder, port = os.path.join(self.work, "nginx"), self.options.port + 1
        os.makedirs(folder)
        configuration = os.path.join(folder, "nginx.conf")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(NGINX.format(folder=folder, host=HOST, port=port, root=root))
        process = subprocess.Popen([nginx, "-c", configuration, "-e", os.path.join(folder, "error.log")])
        try:
            wait_for_port(port)
            for what, piece in ((f"a file of {FILE_BYTES >> 20} MiB", 0), ("ranges of 1 MiB of it", RANGE_BYTES)):
                self.downloads(what, piece, daemon, port)
        finally:
            process.terminate()
            process.wait(timeout=30)

    def downloads(self, what, piece, daemon, port):
        field = "Authorization: " + daemon.headers["Authorization"]
        ratios, rates = [], []
        for _ in range(self.options.repeats):
            theirs = self.download(port, "/large.wav", piece, field)
            ours = self.download(daemon.port, "/audio/large.wav", piece, field)
            ratios.append(ours / theirs)
            rates.append((ours, theirs))
        ours, theirs = (statistics.median(values) / 1e6 for values in zip(*rates))
        text = f"{ours:,.0f} MB/s; nginx with sendfile {theirs:,.0f} MB/s: {statistics.median(ratios):.2f} x"
        self.row(f"{what}, one connection", text, "0.7 x")

    def download(self, port, path, piece, field):
        words = [port, path, self.options.seconds, piece, FILE_BYTES, field]
        done = subprocess.run([self.options.download, *map(str, words)], check=True, capture_output=True, text=True)
        return float(done.stdout)

    def pushes(self):
        polled, pushed = live_latency.measure_push(self.options.peerd, self.work, self.options.samples)
        for name, read, push in zip(("p50", "p99"), polled, pushed):
            self.row(
                f"write on A until its delta is at a WebSocket of B, {name}",
                f"{push * 1e3:.2f} ms; until B can be read {read * 1e3:.2f} ms: {(push - read) * 1e3:+.2f} ms",
                "+2 ms",
            )


def wait_for_port(port):
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection((HOST, port), timeout=5).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh api", description=__doc__)
    parser.add_argument("--peerd", required=True)
    parser.add_argument("--bare", required=True, help="the bare server")
    parser.add_argument("--download", required=True, help="the program that reads files")
    parser.add_argument("--cache", required=True)
    parser.add_argument("--port", type=int, default=18080)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--samples", type=int, default=500, help="writes that are pushed, and that are read")
    options = parser.parse_args()
    os.makedirs(options.cache, exist_ok=True)
    Bench(options).run()


if __name__ == "__main__":
    main()
