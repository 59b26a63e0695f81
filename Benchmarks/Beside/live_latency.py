"""How long a write on one daemon takes to be readable on another, and to be pushed to a WebSocket there: real
processes, disks and loopback sockets."""

import base64
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import time


class Control:
    """HTTP on a connection to a daemon's Unix socket."""

    def __init__(self, path):
        self.connection = http.client.HTTPConnection("localhost")
        self.connection.sock = socket.socket(socket.AF_UNIX)
        self.connection.sock.connect(path)

    def request(self, method, path, body=None):
        self.connection.request(method, path, body=None if body is None else json.dumps(body))
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(content.decode())
        return json.loads(content)


class Subscription:
    """The deltas of one object, over a WebSocket on a daemon's Unix socket."""

    def __init__(self, path, identifier, credit):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(20)
        key = base64.b64encode(os.urandom(16)).decode()
        request = [
            "GET /ws/sync HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}",
        ]
        self.socket.sendall(("\r\n".join(request) + "\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        if b" 101 " not in self.file.readline():
            raise RuntimeError("the daemon opens no WebSocket")
        while self.file.readline() != b"\r\n":
            pass
        self.send({"type": "subscribe", "id": 1, "scope": {"object": identifier}, "since": None, "credit": credit})

    def send(self, message):
        data = json.dumps(message).encode()
        length = bytes([0x80 | len(data)]) if len(data) < 126 else struct.pack(">BH", 0x80 | 126, len(data))
        # A mask of zeros leaves the data as they are.
        self.socket.sendall(b"\x81" + length + bytes(4) + data)

    def delta(self):
        """The objects of the next delta."""
        while True:
            kind, length = self.file.read(2)
            if length == 126:
                (length,) = struct.unpack(">H", self.file.read(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.file.read(8))
            data = self.file.read(length)
            if kind & 0xF == 8:
                raise RuntimeError(f"the daemon closed the WebSocket: {data!r}")
            if kind & 0xF != 1:
                continue
            message = json.loads(data)
            if message["type"] == "delta":
                return message["objects"]
            if message["type"] == "error":
                raise RuntimeError(str(message))

    def wait_for(self, value):
        while not any((item["state"] or {}).get("properties", {}).get("n") == value for item in self.delta()):
            pass


class Daemon:
    def __init__(self, peerd, directory):
        self.peerd = peerd
        self.directory = directory
        self.process = None

    def call(self, *arguments):
        command = [self.peerd, "--dir", self.directory, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            command = [self.peerd, *arguments, "--dir", self.directory]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def start(self):
        command = [self.peerd, "run", "--dir", self.directory, "--listen", "127.0.0.1:0", "--no-discovery"]
        log = open(self.directory + ".log", "w", encoding="utf-8")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def control(self):
        """The daemon's socket, once it answers."""
        deadline = time.monotonic() + 20
        while True:
            for name in os.listdir(self.directory):
                path = os.path.join(self.directory, name)
                if name.endswith("sock") or name.endswith("socket"):
                    try:
                        return Control(path)
                    except OSError:
                        pass
            if time.monotonic() > deadline:
                raise RuntimeError(f"the daemon of {self.directory} does not answer; see {self.directory}.log")
            time.sleep(0.02)

    def socket_path(self):
        return os.path.join(self.directory, "socket")

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=20)


def pair(peerd, scratch):
    first = Daemon(peerd, os.path.join(scratch, "live-a"))
    second = Daemon(peerd, os.path.join(scratch, "live-b"))
    first.call("init", "--name", "a")
    first.start()
    first.control()
    invite = next(line for line in first.call("invite").splitlines() if "peerd:1:" in line)
    line = invite[invite.index("peerd:1:") :].split()[0].strip('",')
    second.call("join", line)
    second.start()
    return first, second


def wait_for(control, identifier):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            return control.request("GET", f"/api/objects/{identifier}")
        except RuntimeError:
            time.sleep(0.05)
    raise RuntimeError("the second daemon does not get what the first has")


def percentiles(times):
    """The median and the 99th percentile."""
    times = sorted(times)
    return times[len(times) // 2], times[len(times) * 99 // 100]


def poll(reader, path, value):
    """Reads until the value is there."""
    while True:
        try:
            if reader.request("GET", path) == value:
                return
        except RuntimeError:
            # The property is not there before the first write has come.
            pass


def measure(peerd, scratch, samples):
    """The median and the 99th percentile of the time until a write is readable, in seconds."""
    first, second = pair(peerd, scratch)
    try:
        writer, reader = first.control(), second.control()
        identifier = writer.request("POST", "/api/objects", {"type": "note"})["id"]
        wait_for(reader, identifier)
        path = f"/api/objects/{identifier}/properties/n"
        times = []
        for sample in range(-20, samples):
            start = time.perf_counter()
            writer.request("PUT", path, sample)
            poll(reader, path, sample)
            if sample >= 0:
                times.append(time.perf_counter() - start)
            time.sleep(0.005)
        return percentiles(times)
    finally:
        first.stop()
        second.stop()


def measure_push(peerd, scratch, samples):
    """The same, and that of the time until a write is pushed to a WebSocket; writes alternate between the two."""
    first, second = pair(peerd, scratch)
    try:
        writer, reader = first.control(), second.control()
        identifier = writer.request("POST", "/api/objects", {"type": "note"})["id"]
        wait_for(reader, identifier)
        path = f"/api/objects/{identifier}/properties/n"
        subscription = Subscription(second.socket_path(), identifier, 4 * samples + 100)
        polled, pushed = [], []
        for sample in range(-40, 2 * samples):
            start = time.perf_counter()
            writer.request("PUT", path, sample)
            if sample % 2 == 0:
                poll(reader, path, sample)
                taken = time.perf_counter() - start
                subscription.wait_for(sample)
            else:
                subscription.wait_for(sample)
                taken = time.perf_counter() - start
            if sample >= 0:
                (polled if sample % 2 == 0 else pushed).append(taken)
            time.sleep(0.005)
        return percentiles(polled), percentiles(pushed)
    finally:
        first.stop()
        second.stop()
