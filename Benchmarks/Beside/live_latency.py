"""How long a write on one daemon takes to be readable on another: real processes, disks and loopback sockets."""

import json
import os
import signal
import socket
import subprocess
import time


class Control:
    """A connection to a daemon's Unix socket: one JSON value a line, answered until `finished` or `failed`."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.buffer = b""

    def request(self, request):
        line = json.dumps({"version": 2, "format": {"isJSON": True}, "request": request})
        self.socket.sendall(line.encode() + b"\n")
        text = ""
        while True:
            while b"\n" not in self.buffer:
                received = self.socket.recv(1 << 16)
                if not received:
                    raise RuntimeError("the daemon hung up")
                self.buffer += received
            answer, self.buffer = self.buffer.split(b"\n", 1)
            reply = json.loads(answer)
            if "text" in reply:
                text += reply["text"]["_0"]
            elif "finished" in reply:
                return text
            elif "failed" in reply:
                raise RuntimeError(str(reply["failed"]))


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
            return control.request({"get": {"object": identifier}})
        except RuntimeError:
            time.sleep(0.05)
    raise RuntimeError("the second daemon does not get what the first has")


def measure(peerd, scratch, samples):
    """The median and the 99th percentile, in seconds."""
    first, second = pair(peerd, scratch)
    try:
        writer, reader = first.control(), second.control()
        creation = {"type": "note", "kind": "", "assignments": []}
        created = json.loads(writer.request({"create": {"_0": creation}}).splitlines()[0])
        identifier = created.get("id") or created["object"]
        wait_for(reader, identifier)
        times = []
        for sample in range(-20, samples):
            assignment = {"name": "n", "value": str(sample)}
            read = {"get": {"object": identifier, "name": "n"}}
            start = time.perf_counter()
            writer.request({"set": {"object": identifier, "assignments": [assignment]}})
            while True:
                try:
                    if str(sample) in reader.request(read):
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
