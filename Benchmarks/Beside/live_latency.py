"""How long a write on one daemon takes to be readable on another: real processes, disks and loopback sockets."""

import http.client
import json
import os
import signal
import socket
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


def measure(peerd, scratch, samples):
    """The median and the 99th percentile, in seconds."""
    first, second = pair(peerd, scratch)
    try:
        writer, reader = first.control(), second.control()
        identifier = writer.request("POST", "/api/objects", {"type": "note"})["id"]
        wait_for(reader, identifier)
        times = []
        for sample in range(-20, samples):
            path = f"/api/objects/{identifier}/properties/n"
            start = time.perf_counter()
            writer.request("PUT", path, sample)
            while True:
                try:
                    if reader.request("GET", path) == sample:
                        break
                except RuntimeError:
                    # The property is not there before the first write has come.
                    pass
            if sample >= 0:
                times.append(time.perf_counter() - start)
            time.sleep(0.005)
        times.sort()
        return times[len(times) // 2], times[len(times) * 99 // 100]
    finally:
        first.stop()
        second.stop()
