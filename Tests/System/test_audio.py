"""Sound through /audio/: what ffmpeg encodes is decoded to the same samples whether it comes from the disk or from the
daemon, the index of a movie comes in front, and no file is touched. In Chromium, a page of the user's own jumps to a
late place of a large file, plays on from there, and has fetched little of the file by then."""

import functools
import hashlib
import re
import shutil
import struct
import subprocess
import urllib.parse

import pytest

from browser import needs_chromium, start_chromium
from local_api import serve
from peerd_harness import check, say, wait_until
from tcp_proxy import Proxy

pytestmark = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="ffmpeg is not installed; make setup installs it")

SECONDS = 20
# A tone that rises from 200 Hz to 4 kHz on one side and falls on the other, so that no second is like another.
SWEEP = (
    "aevalsrc='0.5*sin(2*PI*(200*t+95*t*t))|0.5*sin(2*PI*(4000*t-95*t*t))'"
    f":s=48000:d={SECONDS}:channel_layout=stereo"
)
# The name of a file: the encoder that it needs, and what ffmpeg is told.
ENCODINGS = {
    "end.m4a": ("aac", ["-c:a", "aac"]),
    "front.m4a": ("aac", ["-c:a", "aac", "-movflags", "+faststart"]),
    "movie.mp4": ("aac", ["-f", "lavfi", "-i", f"testsrc=size=64x48:rate=10:duration={SECONDS}", "-c:v", "mpeg4",
                          "-c:a", "aac", "-shortest"]),
    "plain.mov": ("pcm_s16le", ["-c:a", "pcm_s16le"]),
    "lossless.m4a": ("alac", ["-c:a", "alac"]),
    "flac.mp4": ("flac", ["-c:a", "flac", "-strict", "-2"]),
    "fragments.m4a": ("aac", ["-c:a", "aac", "-movflags", "+frag_keyframe+empty_moov"]),
    "sound.wav": ("pcm_s16le", ["-c:a", "pcm_s16le"]),
    "sound.mp3": ("libmp3lame", ["-c:a", "libmp3lame"]),
    "sound.flac": ("flac", ["-c:a", "flac"]),
    "sound.opus": ("libopus", ["-c:a", "libopus"]),
    "sound.ogg": ("libvorbis", ["-c:a", "libvorbis"]),
}
# Those whose index ffmpeg puts at the end.
INDEX_AT_THE_END = {"end.m4a", "movie.mp4", "plain.mov", "lossless.m4a", "flac.mp4"}

PATIENCE_SECONDS = 60.0
# Less than a third of the file, and more than the browser and the sockets hold ahead of what is played.
FETCHED_MOST = 30 << 20


def ffmpeg(*arguments):
    """Runs ffmpeg, which must have nothing to complain of, and returns what it prints."""
    command = ["ffmpeg", "-nostdin", "-v", "error", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    complaint = done.stderr.decode(errors="replace")
    check(done.returncode == 0 and not complaint, f"{' '.join(command)}: exit code {done.returncode}: {complaint}")
    return done.stdout


@functools.cache
def encoders():
    text = subprocess.run(["ffmpeg", "-v", "error", "-encoders"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^ A\S{5} (\S+)", text, re.MULTILINE))


def needs_encoder(name):
    if name not in encoders():
        pytest.skip(f"this ffmpeg has no {name}")


def samples(source, *options):
    """The decoded sound, as 16 bits a sample."""
    return ffmpeg(*options, "-i", source, "-map", "0:a:0", "-f", "s16le", "-")


def frames(source, *options):
    """The time and the hash of each decoded frame of all tracks."""
    text = ffmpeg(*options, "-i", source, "-map", "0", "-f", "framemd5", "-").decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def boxes(data):
    """The types of the boxes beside each other in a movie."""
    found, place = [], 0
    while place + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, place)
        if length == 1:
            (length,) = struct.unpack_from(">Q", data, place + 8)
        found.append(kind.decode("latin-1"))
        place += length or len(data)
    return found


def state_on_disk(path):
    status = path.stat()
    numbers = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)
    return numbers, hashlib.sha256(path.read_bytes()).hexdigest()


# What is decoded.


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_sound_is_served_with_the_same_samples(world, name):
    """The index of a movie comes in front, and the file is not touched."""
    encoder, arguments = ENCODINGS[name]
    needs_encoder(encoder)
    entry = serve(world)
    made, on_disk = world.root / name, entry.peer.directory / "files" / name
    ffmpeg("-f", "lavfi", "-i", SWEEP, *arguments, "-y", made)
    stored = made.read_bytes()
    entry.expect(201, "PUT", f"/api/file/{name}", body=stored)
    before = state_on_disk(on_disk)
    served = entry.expect(200, "GET", f"/audio/{name}").body
    if name in INDEX_AT_THE_END:
        check(boxes(stored).index("moov") > boxes(stored).index("mdat"), f"{name}: ffmpeg puts the index in front")
        check(boxes(served).index("moov") < boxes(served).index("mdat"), f"{name} is served as {boxes(served)}")
        check(len(served) == len(stored), f"{name}: {len(stored)} bytes are served as {len(served)}")
    else:
        check(served == stored, f"{name} is not served as it is")
    check_decoded(world, entry, name, served)
    check(entry.expect(200, "GET", f"/api/file/{name}").body == stored, f"{name}: the plain file is another one")
    check(state_on_disk(on_disk) == before, f"{name}: the file on the disk was touched")


def check_decoded(world, entry, name, served):
    stored, copy = world.root / name, world.root / f"served-{name}"
    copy.write_bytes(served)
    wanted, wanted_frames = samples(stored), frames(stored)
    least = (SECONDS - 1) * 48_000 * 4
    check(len(wanted) > least and len(wanted_frames) > SECONDS, f"{name} is decoded to {len(wanted)} bytes")
    check(samples(copy) == wanted, f"{name}: other samples than from the disk")
    check(frames(copy) == wanted_frames, f"{name}: other frames than from the disk")
    # By a client that reads only what it needs, from the begin and from a late place.
    headers = "".join(f"{key}: {value}\r\n" for key, value in entry.fields if key != "Host")
    address = f"http://{entry.host}/audio/{name}"
    check(samples(address, "-headers", headers) == wanted, f"{name}: other samples over HTTP")
    late = ("-ss", SECONDS * 3 // 4)
    found = samples(address, "-headers", headers, *late)
    check(found and found == samples(stored, *late), f"{name}: other samples from a late place over HTTP")


# In the browser.

PAGE = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Player</title>
<link rel="icon" href="data:,"><audio id="player" preload="metadata" controls></audio>
<script src="player.js"></script></html>
"""
SCRIPT = b"""
const player = document.querySelector("#player");
player.muted = true;
window.events = [];
for (const name of ["loadedmetadata", "seeked", "playing", "error"])
    player.addEventListener(name, () => window.events.push(name));
"""


class Player:
    """A page of the user's own in Chromium, which reaches the daemon through a proxy that counts."""

    def __init__(self, world):
        needs_chromium()
        pages = world.root / "pages"
        pages.mkdir()
        (pages / "index.html").write_bytes(PAGE)
        (pages / "player.js").write_bytes(SCRIPT)
        peer = serve(world, words=["--serve", pages]).peer
        self.folder = peer.directory / "files"
        link = urllib.parse.urlsplit(peer.run("open", "--print"))
        self.proxy = Proxy(f"127.0.0.1:{link.port}")
        world.closers.append(self.proxy.close)
        # The name of the host stays, so that the daemon sees its own; only the connection goes another way.
        self.driver = start_chromium(
            "--autoplay-policy=no-user-gesture-required",
            f"--host-resolver-rules=MAP {link.netloc} {self.proxy.address}",
        )
        world.closers.append(self.driver.quit)
        self.origin = f"http://{link.netloc}"
        self.driver.get(f"{self.origin}{link.path}")
        check(self.proxy.bytes_from_target > 0, "the browser does not go through the proxy")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def can_play(self, media_type):
        return bool(self.run("return document.createElement('audio').canPlayType(arguments[0])", media_type))

    def has(self, event):
        error = self.run("return document.querySelector('#player').error?.message ?? null")
        check(error is None, f"the player reports: {error}")
        return event in self.run("return window.events")

    def wait_for(self, event):
        wait_until(lambda: self.has(event), PATIENCE_SECONDS, f"the player says “{event}”")

    def time(self):
        return self.run("return document.querySelector('#player').currentTime")

    def first_bytes(self):
        """The first byte of each range that was asked for since the recording began."""
        sent = b"".join(data for _, is_request, data in list(self.proxy.record) if is_request)
        return [int(first) for first in re.findall(rb"\r\nrange: bytes=(\d+)-", sent, re.IGNORECASE)]

    def open(self, path, length):
        """Loads a sound in a new page until its length is known; returns where ranges began and what was sent."""
        self.driver.get(f"{self.origin}/app/")
        wait_until(lambda: self.run("return window.events !== undefined"), PATIENCE_SECONDS, "the page of one's own")
        begin, self.proxy.record = self.proxy.bytes_from_target, []
        self.run("document.querySelector('#player').src = arguments[0]", path)
        self.wait_for("loadedmetadata")
        found = self.run("return document.querySelector('#player').duration")
        check(abs(found - length) < 5, f"{path} is {found} s long for the browser, and not {length} s")
        return self.first_bytes(), begin

    def play_from(self, place):
        """Jumps to a place, plays, and waits until the time goes on from there."""
        self.run("window.events = []; document.querySelector('#player').currentTime = arguments[0]", place)
        self.wait_for("seeked")
        self.run("document.querySelector('#player').play()")
        self.wait_for("playing")
        wait_until(lambda: self.time() > place + 1, PATIENCE_SECONDS, f"the sound plays on from {place} s")
        check(self.time() < place + PATIENCE_SECONDS, f"the sound is at {self.time()} s, not at {place} s")
        self.run("document.querySelector('#player').pause()")

    def check_console(self):
        errors = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        check(not errors, f"the console of the browser: {errors}")


# Large files: the type, what encodes them, and the length in seconds.
LONG_FILES = {
    "long.wav": ("audio/wav", "pcm_s16le", [], 600),
    "long.m4a": ("audio/mp4; codecs=\"mp4a.40.2\"", "aac", ["-b:a", "320k", "-aac_coder", "fast"], 3600),
    "long.mp3": ("audio/mpeg", "libmp3lame", ["-b:a", "320k"], 3600),
}


@pytest.fixture
def player(world):
    player = Player(world)
    yield player
    player.check_console()


def put_long(player, name):
    """Puts a large file where the daemon finds it; returns its size and its length in seconds."""
    media_type, encoder, arguments, length = LONG_FILES[name]
    needs_encoder(encoder)
    if not player.can_play(media_type):
        pytest.skip(f"this Chromium does not play {media_type}")
    player.folder.mkdir()
    piece, path = player.folder.parent / f"piece-{name}", player.folder / name
    # Half a minute of noise again and again: encoding takes long, and copying does not.
    noise = "anoisesrc=r=44100:a=0.3:s=7,aformat=channel_layouts=stereo,atrim=0:30"
    ffmpeg("-f", "lavfi", "-i", noise, "-c:a", encoder, *arguments, "-y", piece)
    ffmpeg("-stream_loop", length // 30 - 1, "-i", piece, "-c", "copy", "-t", length, "-y", path)
    size = path.stat().st_size
    check(size > 3 * FETCHED_MOST, f"{name} is not large enough")
    return size, length


@pytest.mark.parametrize("name", LONG_FILES)
def test_a_browser_plays_from_a_late_place_and_fetches_little(player, name):
    size, length = put_long(player, name)
    first_bytes, begin = player.open(f"/audio/{name}", length)
    check(set(first_bytes) == {0}, f"{name}: before anything is played, ranges begin at {first_bytes}")
    player.play_from(length * 0.9)
    fetched = player.proxy.bytes_from_target - begin
    late = [first for first in player.first_bytes() if first > size * 0.8]
    check(late, f"{name}: no range is near the place: {player.first_bytes()}")
    say(f"{name}: {fetched / 2**20:.1f} MiB of {size / 2**20:.1f} MiB were sent to play from {length * 0.9:.0f} s")
    check(fetched < FETCHED_MOST, f"{name}: {fetched} of {size} bytes were sent to play from a late place")


def test_a_browser_looks_for_the_index_of_the_plain_file_at_the_end(player):
    """So what is served as sound saves it that: the file is the same."""
    _, length = put_long(player, "long.m4a")
    first_bytes, _ = player.open("/api/file/long.m4a", length)
    check(any(first > 0 for first in first_bytes), f"the plain file has its index at the end: {first_bytes}")
