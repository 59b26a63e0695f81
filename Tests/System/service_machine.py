"""A machine that systemd boots, with the Debian package and nothing else: its own init, users, services and network.

The programs are those of the host (/usr, below what the package puts there); everything else is a folder of the test.
"""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from peerd_harness import check, program, skip, wait_until

BOOT_SECONDS = 30
COMMAND_SECONDS = 60
SCRIPTS = Path(__file__).parents[2] / "scripts"
BIN = "/usr/bin"
USER = ("someone", 1000)
HOME = "/srv/someone"
SYSTEM_FOLDERS = ("/usr/", "/lib/", "/lib64/", "/bin/")


def reason_to_skip():
    """Why no machine can be booted here, or None."""
    if os.geteuid() != 0:
        return "systemd-nspawn needs root"
    for word in ("systemd-nspawn", "nsenter", "dpkg-deb"):
        if not shutil.which(word):
            return f"the program {word} is not here"
    if not os.access("/usr/lib/systemd/systemd", os.X_OK):
        return "systemd is not here"
    return None


def folders_of_libraries():
    """Where the program has libraries that are in no folder of the system; none if it has them inside."""
    words = subprocess.run(["ldd", program()], capture_output=True, text=True, check=True).stdout.split()
    paths = {word for word in words if word.startswith("/")}
    return {os.path.dirname(path) for path in paths if not path.startswith(SYSTEM_FOLDERS)}


@functools.cache
def package(version_suffix=""):
    """A Debian package of the program that is tested, under its version or a later one."""
    folder = tempfile.TemporaryDirectory(prefix="peerd-package.")
    root, path = Path(folder.name, "root"), Path(folder.name, "peerd.deb")
    environment = {**os.environ, "DPKG_DEB_COMPRESSOR_TYPE": "none"}

    def run(*words):
        done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
        check(done.returncode == 0, f"{words}: {done.stderr}{done.stdout}")

    if version_suffix:
        run("dpkg-deb", "--raw-extract", package()[1], root)
        control = root / "DEBIAN/control"
        control.write_text(re.sub(r"(?m)^(Version: .*)$", rf"\1{version_suffix}", control.read_text()))
        run("dpkg-deb", "--root-owner-group", "--build", root, path)
    else:
        run(SCRIPTS / "install.sh", program(), root, "/usr")
        run(SCRIPTS / "deb.sh", root, path)
    shutil.rmtree(root)
    # The folder is there as long as somebody has it.
    return folder, path


class ServiceMachine:
    """A machine that runs until `close`."""

    def __init__(self, root):
        self.root = Path(root)
        self.log = self.root.with_name("console.log")
        self._fill()
        installed = self.root.with_name("usr")
        installed.mkdir()
        words = ["systemd-nspawn", "--quiet", "--boot", f"--directory={self.root}", f"--overlay=/usr:{installed}:/usr",
                 "--register=no", "--keep-unit", "--private-network", f"--machine=pd{os.getpid()}",
                 "--console=read-only", *(f"--bind-ro={path}" for path in folders_of_libraries()),
                 "systemd.unit=basic.target", "systemd.log_target=console"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.init = None

    def _fill(self):
        for name in ("etc/systemd/system", "etc/systemd/user", "usr", "root", HOME[1:], "var/lib/dpkg/info",
                     "var/lib/dpkg/updates"):
            (self.root / name).mkdir(parents=True)
        os.chown(self.root / HOME[1:], USER[1], USER[1])
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.root / name).symlink_to(f"usr/{name}")
        etc = self.root / "etc"
        (etc / "os-release").write_text("ID=test\n")
        # A machine without an id asks whoever boots it first for its time zone, and waits.
        (etc / "machine-id").write_text(os.urandom(16).hex() + "\n")
        user = f"{USER[0]}:x:{USER[1]}:{USER[1]}::{HOME}:/bin/sh"
        (etc / "passwd").write_text(f"root:x:0:0::/root:/bin/sh\n{user}\n")
        (etc / "group").write_text(f"root:x:0:\n{USER[0]}:x:{USER[1]}:\n")
        # Whoever asks for a user of a service asks systemd.
        (etc / "nsswitch.conf").write_text("passwd: files systemd\ngroup: files systemd\n")
        # Nobody logs in, so nobody tells the services of a user where their sockets are.
        drop_in = etc / "systemd/system/user@.service.d"
        drop_in.mkdir()
        (drop_in / "test.conf").write_text("[Service]\nPAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n")
        # What the package depends on is here.
        shutil.copy2("/var/lib/dpkg/status", self.root / "var/lib/dpkg/status")

    def install(self, version_suffix=""):
        """Has the package manager install the package, or another version of it; returns what it says."""
        shutil.copy2(package(version_suffix)[1], self.root / "root/peerd.deb")
        return self.run("dpkg", "--install", "--force-unsafe-io", "/root/peerd.deb")

    def is_up(self):
        """Whether the services of the machine can be started; false if it has ended."""
        if self.process.poll() is not None:
            return None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        if not children:
            return False
        self.init = children[0]
        try:
            return self.result("systemctl", "is-active", "basic.target").stdout == "active\n"
        except OSError:
            return False

    def boot(self):
        """Waits until it has booted; returns why it has not, or None."""
        end = time.monotonic() + BOOT_SECONDS
        while not (state := self.is_up()):
            if state is None or time.monotonic() > end:
                lines = self.log.read_text(errors="replace").split("\n")
                return f"systemd-nspawn boots no machine here: {' '.join(lines[-3:])}"
            time.sleep(0.1)
        return None

    def close(self):
        if self.process.poll() is None and self.init:
            os.kill(int(self.init), signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    # Commands in it.

    def result(self, *words, stdin=""):
        command = ["nsenter", "--target", self.init, "--mount", "--uts", "--ipc", "--net", "--pid",
                   "env", "-i", f"PATH={BIN}:/usr/sbin:/usr/bin", "HOME=/root", *map(str, words)]
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
        )

    def run(self, *words, stdin=""):
        done = self.result(*words, stdin=stdin)
        check(done.returncode == 0, f"{' '.join(map(str, words))}: {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout.strip()

    def journal(self):
        return self.result("journalctl", "--no-pager", "--lines=40").stdout


def booted(world):
    """A machine that has booted, with the package."""
    if reason := reason_to_skip():
        skip(reason)
    machine = ServiceMachine(world.root / "machine")
    world.closers.append(machine.close)
    if reason := machine.boot():
        skip(reason)
    machine.install()
    return machine


class Account:
    """Somebody with a new account on a machine, and a network of his own as if it were another one."""

    def __init__(self, machine, name):
        self.machine, self.name, self.home = machine, name, f"/srv/{name}"
        machine.run("useradd", "--base-dir=/srv", "--create-home", "--shell=/bin/bash", name)
        self.group = machine.run("id", "--group", name)
        machine.run("ip", "netns", "add", name)
        self.inside = ("ip", "netns", "exec", name)
        machine.run(*self.inside, "ip", "link", "set", "lo", "up")
        check(not list((machine.root / self.home[1:]).iterdir()), "the home of a new account is not empty")

    def connect(self, other):
        """A cable between the networks of two."""
        both = [(self, "10.79.0.1/24"), (other, "10.79.0.2/24")]
        self.machine.run("ip", "link", "add", "eth0", "netns", self.name, "type", "veth", "peer", "eth0", "netns",
                         other.name)
        for one, address in both:
            self.machine.run(*one.inside, "ip", "address", "add", address, "dev", "eth0")
            self.machine.run(*one.inside, "ip", "link", "set", "eth0", "up")

    def types(self, text):
        """What is on the screen then; what the shell has left behind goes on."""
        screen = f"/tmp/{self.name}"
        user = ("setpriv", f"--reuid={self.name}", f"--regid={self.group}", "--init-groups", "env", "-i",
                f"--chdir={self.home}", f"HOME={self.home}", f"USER={self.name}", "PATH=/usr/bin:/bin")
        done = self.machine.result(*self.inside, *user, "bash", "-c", f"bash -el >>{screen} 2>&1", stdin=text)
        shown = self.machine.result("cat", screen).stdout
        check(done.returncode == 0, f"{self.name}: {done.returncode}: {done.stderr}{shown}")
        return shown


class SystemService:
    """peerd@NAME, and commands as its user, as the unit and the guide say."""

    def __init__(self, machine, name):
        self.machine, self.name = machine, name
        self.unit = f"peerd@{name}"

    def result(self, *words, stdin=""):
        properties = ("DynamicUser=yes", f"User=peerd-{self.name}", "StateDirectoryMode=0700",
                      f"StateDirectory=peerd/{self.name} peerd-backups/{self.name}")
        command = ["systemd-run", "--quiet", "--pipe", "--wait", *(f"--property={text}" for text in properties)]
        verb, *rest = words
        directory = ("--dir", f"/var/lib/peerd/{self.name}")
        return self.machine.result(*command, f"{BIN}/peerd", verb, *directory, *rest, stdin=stdin)

    def systemctl(self, verb):
        self.machine.run("systemctl", verb, self.unit)

    def pid(self):
        return self.machine.run("systemctl", "show", "--property=MainPID", "--value", self.unit)


class UserService:
    """The unit of one user, and commands of that user."""

    def __init__(self, machine):
        self.machine, self.name = machine, USER[0]

    def words(self, *words):
        return ("setpriv", f"--reuid={USER[1]}", f"--regid={USER[1]}", "--clear-groups", "env",
                f"HOME={HOME}", f"XDG_RUNTIME_DIR=/run/user/{USER[1]}", *words)

    def result(self, *words, stdin=""):
        return self.machine.result(*self.words("peerd", *words), stdin=stdin)

    def systemctl(self, verb):
        self.machine.run(*self.words("systemctl", "--user", verb, "peerd"))

    def pid(self):
        return self.machine.run(*self.words("systemctl", "--user", "show", "--property=MainPID", "--value", "peerd"))


class Verbs:
    """What both kinds of services have."""

    def run(self, *words, stdin=""):
        done = self.result(*words, stdin=stdin)
        check(done.returncode == 0, f"{self.name}: {' '.join(map(str, words))}: {done.returncode}: {done.stderr}")
        return done.stdout.strip()

    def json(self, verb, *words):
        return json.loads(self.run(verb, "--json", *words))

    def start(self):
        self.systemctl("start")
        wait_until(lambda: self.result("status", "--json").stdout.count('"listen":"'), 30, f"{self.name} listens")

    def has(self, note):
        return note in self.run("ls")


for kind in (SystemService, UserService):
    for verb in ("run", "json", "start", "has"):
        setattr(kind, verb, getattr(Verbs, verb))
