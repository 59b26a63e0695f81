"""What somebody may not read, in every form in which a program could hold it, and the search for that in files, in the
memory of a process, and in what a process was sent."""

import base64
import ctypes
import hashlib
import os
import signal
import string
import subprocess
import time
import uuid
from pathlib import Path

from peerd_harness import check, skip

SOURCES = Path(__file__).parent
# Each has 142 random bits, and stands in a command and in JSON as it is.
TEXT_LENGTH = 24
LETTERS = string.ascii_letters + string.digits
# Enough of random bytes to be nowhere by chance, and little enough to find what is cut in two or shortened.
PIECE = 8
BLAKE2B_PERSONS = (b"", b"peerd/leaf/1", b"peerd/contents/1")


def build(source, target, *options):
    """Makes a library of a C source of this folder."""
    command = ["cc", "-shared", "-fPIC", "-O2", "-o", target, SOURCES / source, *options]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        skip(f"there is no C compiler to build {source} with: {error}")
    return target


def random_text(draw):
    # A digit first could make a number of it.
    return draw.choice(string.ascii_letters) + "".join(draw.choices(LETTERS, k=TEXT_LENGTH - 1))


def forms_of_text(text):
    """A text, its halves, and other ways to write it."""
    raw, half = text.encode(), TEXT_LENGTH // 2
    yield from (raw[:half], raw[half:], raw.hex().encode(), raw.hex().upper().encode(), text.encode("utf-16-le"))
    # Of base64, what does not depend on what stands beside it.
    for skipped in range(3):
        yield base64.b64encode(raw[skipped : skipped + 21])


def hashes_of_text(text):
    """The beginnings of hashes that anybody could compute who guesses the text: of it, as JSON, and as a value."""
    raw = text.encode()
    for content in (raw, b'"' + raw + b'"', b"\x05" + raw):
        digests = [hashlib.new(name, content).digest() for name in ("sha256", "sha512", "sha1", "md5")]
        for size in (16, 32, 64):
            digests += [hashlib.blake2b(content, digest_size=size, person=who).digest() for who in BLAKE2B_PERSONS]
        for digest in digests:
            yield from forms_of_bytes(digest)


def forms_of_bytes(data):
    """The beginning of an id or a hash, as bytes and as digits."""
    start = data[:PIECE]
    yield from (start, start.hex().encode(), start.hex().upper().encode(), start[::-1])


def forms_of_id(text):
    """Those of a UUID: as bytes, as digits, and as the program shows it."""
    data = uuid.UUID(text).bytes
    yield from (data[:PIECE], data[PIECE:], data.hex()[:16].encode(), data.hex()[16:].encode())
    # The first two groups, and the last three.
    yield from (text[:13].encode(), text[14:].encode(), text[:13].upper().encode(), text[14:].upper().encode())


class Needles:
    """What is looked for: of each thing its forms."""

    def __init__(self, library):
        self.library = ctypes.CDLL(str(library))
        self.things, self.needles = [], []

    def add(self, thing, forms):
        """`thing`: what the forms are of; it is found if any of them is."""
        new = sorted(set(forms))
        check(all(len(form) >= PIECE for form in new), f"{thing}: a form is too short")
        self.things += [thing] * len(new)
        self.needles += new

    def found_in(self, data):
        """The things that some bytes hold."""
        lengths = (ctypes.c_uint32 * len(self.needles))(*map(len, self.needles))
        found = (ctypes.c_uint8 * len(self.needles))()
        is_done = self.library.find_needles(
            ctypes.c_char_p(data), ctypes.c_size_t(len(data)), ctypes.c_char_p(b"".join(self.needles)), lengths,
            ctypes.c_uint32(len(self.needles)), found,
        )
        check(is_done, "there is no memory for the search")
        return {thing for thing, is_found in zip(self.things, found) if is_found}

    def found_among(self, places):
        """Of named places, those that hold something, and what."""
        found = {name: self.found_in(data) for name, data in places}
        return {name: sorted(things) for name, things in found.items() if things}


def files_of(peer):
    """All that a machine has on its disk: its data directory, names of files included, and the log of its daemon."""
    yield "names of files", "\n".join(map(str, peer.directory.rglob("*"))).encode()
    for path in [*peer.directory.rglob("*"), peer.log_path]:
        if path.is_file():
            yield path.name, path.read_bytes()


def memory_of(peer):
    """What a core dump of the daemon would have: all that is in its memory, but for programs and libraries as they are
    on disk. The daemon rests meanwhile, so that nothing moves."""
    pid = peer.process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.001)
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            return b"".join(read_mapping(memory, *span) for span in spans_of(pid, str(peer.directory)))
    finally:
        os.kill(pid, signal.SIGCONT)


def spans_of(pid, directory):
    """The start and the end of each part of the memory of a process that holds anything of its own."""
    span, name, kilobytes = None, "", 0
    for line in [*Path(f"/proc/{pid}/smaps").read_text().splitlines(), "0-0 end"]:
        words = line.split()
        if words[0].endswith(":"):
            # Of programs and libraries only what was written to.
            is_own = not name.startswith("/") or name.startswith(directory)
            if words[0] in ("Rss:" if is_own else "Anonymous:", "Swap:"):
                kilobytes += int(words[1])
            continue
        if span and kilobytes and name not in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
            yield span
        span, name, kilobytes = [int(part, 16) for part in words[0].split("-")], " ".join(words[5:]), 0


def read_mapping(memory, start, end):
    pieces = []
    for at in range(start, end, 1 << 20):
        try:
            pieces.append(os.pread(memory.fileno(), min(1 << 20, end - at), at))
        except OSError:  # pages that no page table has
            pass
    return b"".join(pieces)
