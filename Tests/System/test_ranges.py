"""Ranges and conditions (RFC 9110, sections 13 and 14) on /api/file/ and /audio/, over both entries: every form of a
range, what is ignored and what is refused, states that change between two requests or while one is answered, and
movies whose index is moved to the front."""

import itertools
import os
import re
import socket
import struct
import threading
import time
from dataclasses import dataclass
from email.utils import formatdate

import pytest

from local_api import ANSWER_SECONDS, WAYS, Closed, Connection, Entry, request_bytes, serve
from peerd_harness import check

MOST_RANGES = 64
SIZE = 10_000
# More than all buffers between the server and a client that stops to read.
LARGE_SIZE = 16 << 20
DAY_SECONDS = 86_400
CLOCK_REALTIME_COARSE = 5


@dataclass
class File:
    """A file as one route serves it."""

    entry: Entry
    route: str
    name: str
    content: bytes
    media_type: str = "audio/mpeg"

    @property
    def target(self):
        return self.route + self.name

    @property
    def path(self):
        return folder(self.entry) / self.name

    def ask(self, *fields, method="GET"):
        return self.entry.ask(method, self.target, fields=fields)

    def ranges(self, text, *fields):
        return self.ask(("Range", text), *fields)

    @property
    def tag(self):
        return self.ask(method="HEAD").tag

    def __str__(self):
        return f"{self.target} ({self.entry.name})"


def folder(entry):
    """Where the files are."""
    return entry.peer.directory / "files"


def put(entry, route, name, content):
    entry.expect(201, "PUT", f"/api/file/{name}", body=content)
    return File(entry, route, name, content)


@pytest.fixture(params=WAYS)
def entry(request, world):
    return serve(world, request.param)


@pytest.fixture(params=["/api/file/", "/audio/"], ids=["file", "audio"])
def route(request):
    return request.param


@pytest.fixture
def file(entry, route, draw):
    """A sound, as one of the two routes serves it over one of the two entries."""
    return put(entry, route, "sound.mp3", draw.randbytes(SIZE))


# What an answer must be.


def check_whole(file, answer, what):
    check(answer.status == 200, f"{file}, {what}: {answer.status}, not the whole")
    check(answer.body == file.content, f"{file}, {what}: the whole has other bytes")
    check(answer.field("Content-Range") is None, f"{file}, {what}: a 200 with Content-Range")
    check(answer.field("Content-Type") == file.media_type, f"{file}, {what}: {answer.field('Content-Type')}")
    check_described(file, answer, what)


def check_described(file, answer, what):
    check(answer.field("Accept-Ranges") == "bytes", f"{file}, {what}: Accept-Ranges {answer.field('Accept-Ranges')}")
    check(re.fullmatch(r'"[\x21\x23-\x7e]+"', answer.tag or ""), f"{file}, {what}: no strong tag: {answer.tag}")
    check(answer.field("Last-Modified"), f"{file}, {what}: no Last-Modified")


def check_ranges(file, answer, expected, what):
    """`expected`: pairs of the first and the last byte, in order."""
    check(answer.status == 206, f"{file}, {what}: {answer.status}, not 206")
    check_described(file, answer, what)
    parts = parts_of(file, answer, what)
    found = [(first, last) for first, last, _ in parts]
    check(found == expected, f"{file}, {what}: {found}, not {expected}")
    for first, last, content in parts:
        check(content == file.content[first : last + 1], f"{file}, {what}: other bytes from {first} to {last}")


def check_unsatisfiable(file, answer, what):
    check(answer.status == 416, f"{file}, {what}: {answer.status}, not 416")
    told = answer.field("Content-Range")
    check(told == f"bytes */{len(file.content)}", f"{file}, {what}: Content-Range {told}")


def parts_of(file, answer, what):
    """The first byte, the last byte and the bytes of each part of a 206."""
    kind = answer.field("Content-Type")
    if not kind.startswith("multipart/"):
        check(kind == file.media_type, f"{file}, {what}: Content-Type {kind}")
        first, last = content_range(file, answer.field("Content-Range"), what)
        check(len(answer.body) == last - first + 1, f"{file}, {what}: {len(answer.body)} bytes of {first} to {last}")
        return [(first, last, answer.body)]
    check(answer.field("Content-Range") is None, f"{file}, {what}: several parts, and Content-Range in front of all")
    found = re.fullmatch(r"multipart/byteranges; boundary=([A-Za-z0-9'()+_,./:=?-]{1,70})", kind)
    check(found, f"{file}, {what}: Content-Type {kind}")
    parts = multipart(file, answer.body, found.group(1).encode(), what)
    check(len(parts) > 1, f"{file}, {what}: several parts that are {len(parts)}")
    return parts


def multipart(file, body, boundary, what):
    """Reads a body of RFC 2046, section 5.1.1, without preamble and epilogue; each part says how long it is."""
    check(boundary not in file.content, f"{file}, {what}: the file has the boundary")
    delimiter, parts, rest = b"--" + boundary, [], body
    while True:
        check(rest.startswith(delimiter), f"{file}, {what}: no boundary, but {rest[:60]!r}")
        rest = rest[len(delimiter) :]
        if rest == b"--\r\n":
            return parts
        check(rest.startswith(b"\r\n"), f"{file}, {what}: {rest[:20]!r} behind a boundary")
        head, empty_line, rest = rest[2:].partition(b"\r\n\r\n")
        check(empty_line, f"{file}, {what}: the header of a part has no end")
        fields = dict(line.split(": ", 1) for line in head.decode("ascii").split("\r\n"))
        check(set(fields) == {"Content-Type", "Content-Range"}, f"{file}, {what}: a part with {fields}")
        check(fields["Content-Type"] == file.media_type, f"{file}, {what}: a part of {fields['Content-Type']}")
        first, last = content_range(file, fields["Content-Range"], what)
        count = last - first + 1
        parts.append((first, last, rest[:count]))
        check(rest[count : count + 2] == b"\r\n", f"{file}, {what}: {rest[count:count + 20]!r} behind a part")
        rest = rest[count + 2 :]


def content_range(file, text, what):
    found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", text or "")
    check(found, f"{file}, {what}: Content-Range {text}")
    first, last, length = map(int, found.groups())
    check(length == len(file.content) and first <= last < length, f"{file}, {what}: Content-Range {text}")
    return first, last


# The forms of a range.

HUGE = "9" * 40


def test_every_form_of_a_range_is_served(file, subtests):
    end = len(file.content) - 1
    satisfied = {
        "bytes=0-0": [(0, 0)],
        "bytes=0-499": [(0, 499)],
        "bytes=500-999": [(500, 999)],
        "bytes=500-": [(500, end)],
        "bytes=0-": [(0, end)],
        "bytes=-1": [(end, end)],
        "bytes=-500": [(end - 499, end)],
        f"bytes=-{SIZE}": [(0, end)],
        f"bytes=-{SIZE + 1}": [(0, end)],
        f"bytes=-{HUGE}": [(0, end)],
        f"bytes={end}-": [(end, end)],
        f"bytes={end}-{end}": [(end, end)],
        f"bytes={end}-{HUGE}": [(end, end)],
        f"bytes=0-{2**64}": [(0, end)],
        f"bytes=9-{2**63 - 1}": [(9, end)],
        "bytes=000000000000000000000000000005-0000000000000000000000000000007": [(5, 7)],
        # The unit is not case-sensitive, and a list may have white space and empty elements.
        "Bytes=1-2": [(1, 2)],
        "BYTES=1-2": [(1, 2)],
        "bytes= 1-2": [(1, 2)],
        "bytes=,1-2,,": [(1, 2)],
        "bytes=1-2 ,\t5-6": [(1, 2), (5, 6)],
        "bytes=0-0,-1": [(0, 0), (end, end)],
        "bytes=500-600,700-799": [(500, 600), (700, 799)],
        # Unordered: the client has a reason for its order.
        "bytes=700-799,500-600": [(700, 799), (500, 600)],
        "bytes=-2,0-1,50-51": [(end - 1, end), (0, 1), (50, 51)],
        # What overlaps or touches is sent once.
        "bytes=0-99,50-149": [(0, 149)],
        "bytes=50-149,0-99": [(0, 149)],
        "bytes=0-9,10-19": [(0, 19)],
        "bytes=5-5,5-5": [(5, 5)],
        "bytes=0-,-1": [(0, end)],
        "bytes=0-9,20-29,5-24,100-101": [(0, 29), (100, 101)],
        # Those that are not there are left out.
        f"bytes=0-1,{SIZE}-,5-6": [(0, 1), (5, 6)],
        f"bytes=-0,{HUGE}-,7-7": [(7, 7)],
    }
    for text, expected in satisfied.items():
        with subtests.test(text):
            check_ranges(file, file.ranges(text), expected, text)


def test_a_range_beyond_the_end_is_refused(file, subtests):
    beyond = [
        f"bytes={SIZE}-", f"bytes={SIZE}-{SIZE}", f"bytes={SIZE}-{SIZE + 9}", "bytes=-0", f"bytes={HUGE}-",
        f"bytes={2**64}-{2**64 + 5}", f"bytes={2**63}-", f"bytes=-0,{SIZE}-{HUGE}",
    ]
    for text in beyond:
        with subtests.test(text):
            check_unsatisfiable(file, file.ranges(text), text)


def test_what_is_no_range_is_ignored(file, subtests):
    """A field that is no valid range is as if it were not there (section 14.2); so is a unit that is not known."""
    ignored = [
        "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=9-0", "bytes=0-9,9-0", "bytes=a-b", "bytes=0-9,x",
        "bytes=0 - 9", "bytes=0-9-", "bytes=--9", "bytes=+0-9", "bytes=-+9", "bytes=0x0-0x9", "bytes=1", "bytes=1.0-2",
        "bytes=0-9;20-29", "bytes=0-9 20-29", "bytes=0-9, bytes=20-29", "bytes==0-9", "bytes:0-9", "bytes =0-9",
        "=0-9", "0-9", "-1", "items=0-9", "seconds=0-9", "none", "byte=0-9", "bytes=\u00b2-9", f"bytes={HUGE}-0",
        f"bytes={SIZE + 1}-{SIZE}",
    ]
    for text in ignored:
        with subtests.test(text):
            check_whole(file, file.ranges(text), repr(text))
    check_whole(file, file.ask(("Range", "bytes=0-9"), ("Range", "bytes=20-29")), "two fields")
    check_whole(file, file.ask(), "no range")


def test_more_ranges_than_may_be_get_the_whole(file):
    """The whole costs the server less than they would."""

    def field(count):
        return "bytes=" + ",".join(f"{number * 10}-{number * 10}" for number in range(count))

    most = [(number * 10, number * 10) for number in range(MOST_RANGES)]
    check_ranges(file, file.ranges(field(MOST_RANGES)), most, "as many ranges as may be")
    check_whole(file, file.ranges(field(MOST_RANGES + 1)), "one range too many")
    check_whole(file, file.ranges(field(900)), "many tiny ranges")
    check_whole(file, file.ranges("bytes=" + "0-," * 900), "many ranges of everything")


def test_random_ranges_are_those_of_a_model(file, draw):
    """The model is a set of bytes."""
    for round in range(100):
        specs, wanted = [], set()
        for _ in range(draw.randint(1, 8)):
            first = draw.choice([0, draw.randrange(SIZE), SIZE - 1, SIZE, SIZE + 5])
            last = first + draw.choice([0, 1, draw.randrange(300), SIZE])
            kind = draw.randrange(4)
            if kind == 0:
                count = draw.choice([0, 1, draw.randrange(300), SIZE + 1])
                specs.append(f"-{count}")
                wanted |= set(range(max(0, SIZE - count), SIZE))
            elif kind == 1 and draw.randrange(4) == 0:
                specs.append(f"{first}-")
                wanted |= set(range(first, SIZE))
            else:
                specs.append(f"{first}-{last}")
                wanted |= set(range(first, min(last + 1, SIZE)))
        text, what = "bytes=" + ",".join(specs), f"round {round}, {','.join(specs)}"
        answer = file.ranges(text)
        if not wanted:
            check_unsatisfiable(file, answer, what)
            continue
        check(answer.status == 206, f"{file}, {what}: {answer.status}")
        sent = []
        for first, last, content in parts_of(file, answer, what):
            check(content == file.content[first : last + 1], f"{file}, {what}: other bytes from {first}")
            sent += range(first, last + 1)
        check(len(sent) == len(set(sent)) and set(sent) == wanted, f"{file}, {what}: not the bytes that were asked for")


def test_an_empty_file_has_no_range(entry, route):
    file = put(entry, route, "empty.mp3", b"")
    for text in ("bytes=0-", "bytes=0-0", "bytes=-0", "bytes=1-5"):
        check_unsatisfiable(file, file.ranges(text), text)
    for text in ("bytes=-1", "bytes=-5", "bytes=1-0", "items=0-0"):
        check_whole(file, file.ranges(text), text)
    check_whole(file, file.ask(), "no range")


# Methods.


def without_date(answer):
    return sorted(field for field in answer.fields if field[0] != "date")


def test_a_range_is_for_get_alone(file):
    whole, head = file.ask(), file.ask(("Range", "bytes=0-9"), method="HEAD")
    check(head.status == 200 and head.field("Content-Range") is None, f"{file}: HEAD with a range: {head.status}")
    check(head.field("Content-Length") == str(len(file.content)), f"{file}: HEAD: {head.field('Content-Length')} bytes")
    check(without_date(head) == without_date(whole), f"{file}: HEAD has other fields than GET: {head.fields}")
    check(file.ask(("Range", f"bytes={SIZE}-"), method="HEAD").status == 200, f"{file}: HEAD beyond the end")
    for method in ("POST", "PATCH", "OPTIONS"):
        answer = file.ask(("Range", "bytes=0-9"), method=method)
        check(answer.status == 405, f"{file}: {method} with a range: {answer.status}")
        check("GET, HEAD" in answer.field("Allow"), f"{file}: {method}: Allow {answer.field('Allow')}")


def test_a_range_means_the_same_in_the_older_protocol(file):
    with file.entry.connect() as connection:
        fields = [*file.entry.fields, ("Range", "bytes=5-9")]
        connection.send(request_bytes("GET", file.target, fields, version="HTTP/1.0"))
        check_ranges(file, connection.read(), [(5, 9)], "HTTP/1.0")


def test_a_write_has_no_range_and_part_of_a_file_cannot_be_written(entry):
    target = "/api/file/written.bin"
    range_field = ("Range", "bytes=0-1")
    entry.expect(201, "PUT", target, fields=[range_field], body=b"0123456789")
    check(entry.expect(200, "GET", target).body == b"0123456789", "a PUT with a range wrote something else")
    part = ("Content-Range", "bytes 0-1/10")
    entry.refused(400, "bad-request", "PUT", target, fields=[part], body=b"ab")
    check(entry.expect(200, "GET", target).body == b"0123456789", "a PUT of a part has written")
    entry.expect(204, "DELETE", target, fields=[range_field])
    entry.refused(404, "not-found", "GET", target, fields=[range_field])


# Conditions.

PART, BEYOND = ("Range", "bytes=5-9"), ("Range", f"bytes={SIZE}-")


def test_if_range_with_a_tag(file):
    tag = file.tag
    check_ranges(file, file.ask(PART, ("If-Range", tag)), [(5, 9)], "If-Range with the tag")
    check_unsatisfiable(file, file.ask(BEYOND, ("If-Range", tag)), "If-Range with the tag, beyond the end")
    unmet = ['"another"', f"W/{tag}", f'{tag}, "another"', "*", tag.strip('"'), "", "today"]
    for value in unmet:
        check_whole(file, file.ask(PART, ("If-Range", value)), f"If-Range {value}")
        check_whole(file, file.ask(BEYOND, ("If-Range", value)), f"If-Range {value}, beyond the end")
    check_whole(file, file.ask(PART, ("If-Range", tag), ("If-Range", tag)), "two If-Range")
    check_whole(file, file.ask(("If-Range", tag)), "If-Range without a range")
    check_whole(file, file.ask(("If-Range", '"another"')), "another If-Range without a range")


def test_if_range_with_a_date(file):
    tag, modified = file.tag, int(time.time()) - DAY_SECONDS
    os.utime(file.path, ns=(modified * 10**9, modified * 10**9 + 123_456_789))
    answer = file.ask()
    date = answer.field("Last-Modified")
    check(date == formatdate(modified, usegmt=True), f"{file}: Last-Modified {date}")
    check(answer.tag != tag, f"{file}: the file was touched, and its tag has stayed")
    check_ranges(file, file.ask(PART, ("If-Range", date)), [(5, 9)], "If-Range with the date")
    check_unsatisfiable(file, file.ask(BEYOND, ("If-Range", date)), "If-Range with the date, beyond the end")
    for seconds in (-1, 1, 3600):
        other = formatdate(modified + seconds, usegmt=True)
        check_whole(file, file.ask(PART, ("If-Range", other)), f"If-Range, {seconds} s from the date of the file")
    check_whole(file, file.ask(PART, ("If-Range", date.replace("GMT", "UTC"))), "a date of UTC")


def test_if_range_with_the_present_second(file):
    """A date names a state only once its second is over: until then, another state may have the same one."""
    ahead = int(time.time()) + DAY_SECONDS
    os.utime(file.path, (ahead, ahead))
    for _ in range(3):
        before = present_second()
        date = file.ask().field("Last-Modified")
        check(date in seconds_since(before), f"{file}: a file of tomorrow was modified {date}")
        check_whole(file, file.ask(PART, ("If-Range", file.ask().field("Last-Modified"))), "If-Range with this second")


def seconds_since(begin):
    """As a field shows the seconds from one to the present one."""
    return [formatdate(second, usegmt=True) for second in range(begin, present_second() + 1)]


def present_second():
    """By the clock of the server and of file systems, which is some milliseconds behind Python's."""
    return int(time.clock_gettime(CLOCK_REALTIME_COARSE))


def test_preconditions_come_before_ranges_in_their_order(file):
    """The order is that of section 13.2.2."""
    modified = int(time.time()) - DAY_SECONDS
    os.utime(file.path, (modified, modified))
    tag = file.tag

    def date(seconds):
        return formatdate(modified + seconds, usegmt=True)

    def expect(status, *fields):
        for with_range in (False, True):
            what = f"{fields}{' and a range' if with_range else ''}"
            answer = file.ask(*fields, *([PART] if with_range else []))
            if status == 200:
                (check_ranges(file, answer, [(5, 9)], what) if with_range else check_whole(file, answer, what))
                continue
            check(answer.status == status, f"{file}, {what}: {answer.status}, not {status}")
            check(answer.field("Content-Range") is None, f"{file}, {what}: Content-Range")
            if status == 304:
                check((answer.tag, answer.field("Last-Modified")) == (tag, date(0)), f"{file}, {what}: {answer.fields}")
                check(answer.field("Content-Length") in (None, str(len(file.content))), f"{file}, {what}: a length")
            head = file.ask(*fields, *([PART] if with_range else []), method="HEAD")
            check(head.status == status, f"{file}, {what}: HEAD {head.status}")

    old, now_or_later = '"another"', [date(0), date(1), date(2 * DAY_SECONDS)]
    # If-None-Match compares weakly, and beats If-Modified-Since whatever that says.
    for value in (tag, f"W/{tag}", "*", f"{old}, {tag}", f"{old},W/{tag} ,"):
        expect(304, ("If-None-Match", value))
        expect(304, ("If-None-Match", value), ("If-Modified-Since", date(-1)))
        expect(304, ("If-None-Match", value), ("If-Range", tag))
        expect(304, ("If-None-Match", value), ("If-Range", old))
    for value in now_or_later:
        expect(200, ("If-None-Match", old), ("If-Modified-Since", value))
        expect(304, ("If-Modified-Since", value))
        expect(304, ("If-Modified-Since", value), ("If-Range", old))
        expect(200, ("If-Unmodified-Since", value))
        expect(200, ("If-Match", tag), ("If-Unmodified-Since", date(-1)))
    expect(200, ("If-Modified-Since", date(-1)))
    expect(200, ("If-Modified-Since", "yesterday"))
    expect(200, ("If-Modified-Since", date(0)), ("If-Modified-Since", date(0)))
    expect(200, ("If-None-Match", tag.strip('"')))
    expect(304, ("If-None-Match", old), ("If-None-Match", tag))
    # If-Match compares strongly, and beats If-Unmodified-Since and all that a reader's cache asks.
    for value in (tag, "*", f"{old}, {tag}"):
        expect(200, ("If-Match", value))
        expect(304, ("If-Match", value), ("If-None-Match", tag))
    for value in (old, f"W/{tag}"):
        expect(412, ("If-Match", value))
        expect(412, ("If-Match", value), ("If-Unmodified-Since", date(1)))
        expect(412, ("If-Match", value), ("If-None-Match", tag))
        expect(412, ("If-Match", value), ("If-Range", tag))
    expect(412, ("If-Unmodified-Since", date(-1)))
    expect(412, ("If-Unmodified-Since", date(-1)), ("If-None-Match", tag))
    expect(304, ("If-Unmodified-Since", date(0)), ("If-None-Match", tag))
    expect(200, ("If-Unmodified-Since", "yesterday"))
    expect(400, ("If-Match", tag.strip('"')))
    # A condition that is met does not make a range that is not there one that is.
    check_unsatisfiable(file, file.ask(BEYOND, ("If-Match", tag)), "If-Match, beyond the end")


# States that change.


def by_request(file, content):
    file.entry.expect(204, "PUT", f"/api/file/{file.name}", body=content)


def by_rename(file, content):
    (folder(file.entry) / "new").write_bytes(content)
    os.rename(folder(file.entry) / "new", file.path)


def by_deletion(file, _):
    file.entry.expect(204, "DELETE", f"/api/file/{file.name}")


def in_place(file, content):
    with open(file.path, "r+b") as opened:
        opened.write(content)


def at_the_end(file, content):
    with open(file.path, "r+b") as opened:
        opened.seek(-1000, os.SEEK_END)
        opened.write(content[-1000:])


def by_cutting(file, content):
    os.truncate(file.path, len(content) // 2)


def test_a_file_that_changes_between_two_requests_gets_another_tag(file, draw):
    """It changes by the API, by a new file, and in place."""
    tags = {file.tag}
    for change in (by_request, by_rename, in_place, by_request):
        what = f"changed {change.__name__}"
        old_tag, first_half = file.tag, file.ranges(f"bytes=0-{SIZE // 2}").body
        file.content = draw.randbytes(SIZE)
        change(file, file.content)
        check(first_half not in file.content, "the states are the same")
        tag = file.tag
        check(tag not in tags, f"{file}, {what}: the tag is as before")
        tags.add(tag)
        rest = ("Range", f"bytes={SIZE // 2 + 1}-")
        check_whole(file, file.ask(rest, ("If-Range", old_tag)), what)
        check_ranges(file, file.ask(rest, ("If-Range", tag)), [(SIZE // 2 + 1, SIZE - 1)], what)
        check(file.ask(rest, ("If-Match", old_tag)).status == 412, f"{file}, {what}: If-Match with the old tag")
        check_whole(file, file.ask(("If-None-Match", old_tag)), what)
    # The answer to a write has the tag under which the file is read.
    written = file.entry.ask("PUT", f"/api/file/{file.name}", body=file.content)
    check(written.tag == file.tag, f"{file}: written as {written.tag}, read as {file.tag}")
    file.entry.expect(204, "DELETE", f"/api/file/{file.name}")
    check(file.ranges("bytes=0-1").status == 404, f"{file}: deleted, and still there")


@pytest.mark.parametrize("change", [by_request, by_rename, by_deletion, in_place, at_the_end, by_cutting])
def test_no_answer_has_bytes_of_two_states(entry, route, draw, change):
    """The file changes while it is sent."""
    old, new = draw.randbytes(LARGE_SIZE), draw.randbytes(LARGE_SIZE)
    file = File(entry, route, "large.mp3", old)
    # The open file stays what it was, unless somebody writes into it.
    stays = change in (by_request, by_rename, by_deletion)
    folder(entry).mkdir()
    for first in (0, LARGE_SIZE // 16):
        what = f"{file}, from {first}, changed {change.__name__}"
        file.path.write_bytes(old)
        fields = [("Range", f"bytes={first}-")] if first else []
        with patient_connection(entry) as connection:
            connection.send(request_bytes("GET", file.target, [*entry.fields, *fields]))
            answer = connection.read_head()
            check(answer.status == (206 if fields else 200), f"{what}: {answer.status}")
            received = connection.take(1 << 20)
            change(file, new)
            received += rest_of_body(connection, LARGE_SIZE - first - len(received))
        check(old[first:].startswith(received), f"{what}: bytes of two states in one answer")
        whole = len(received) == LARGE_SIZE - first
        check(whole == stays, f"{what}: {len(received)} bytes of {LARGE_SIZE - first}")


def patient_connection(entry):
    """A connection that takes few bytes ahead of its reader."""
    family = socket.AF_UNIX if isinstance(entry.address, str) else socket.AF_INET
    raw = socket.socket(family)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
    raw.connect(entry.address)
    return Connection(raw, ANSWER_SECONDS)


def rest_of_body(connection, count):
    """As many bytes as are still to come, or what comes until the server ends the connection."""
    pieces = []
    while count:
        try:
            pieces.append(connection.take(min(count, 1 << 16)))
        except Closed:
            pieces.append(connection.buffer)
            break
        count -= len(pieces[-1])
    return b"".join(pieces)


def test_a_file_that_is_written_all_the_time_can_be_read(entry, route):
    """The daemon opens the file again if it has changed. What is half written when the file is opened is half written
    in the answer, too: the file system shows no state but that one."""
    size, ends = 480 << 10, threading.Event()
    file = put(entry, route, "busy.mp3", bytes(size))

    def write():
        with open(file.path, "r+b") as opened:
            for number in itertools.count(1):
                opened.seek(0)
                opened.write(bytes([number % 256]) * size)
                opened.flush()
                if ends.wait(0.01):
                    return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        answers = [file.ask() for _ in range(400)]
    finally:
        ends.set()
        writer.join()
    statuses = {answer.status for answer in answers}
    check(statuses <= {200, 503}, f"{file} while it is written: {statuses}")
    bodies = [answer.body for answer in answers if answer.status == 200]
    check(len({body[0] for body in bodies}) > 1, f"{file} while it is written: {len(bodies)} answers, of one state")
    check({len(body) for body in bodies} == {size}, f"{file} while it is written: answers of other lengths")


# Movies.


def box(kind, *contents):
    content = b"".join(contents)
    return struct.pack(">I4s", 8 + len(content), kind) + content


def movie(draw):
    """A movie with its index behind the media, and the same with its index in front."""
    front, media = box(b"ftyp", b"M4A \0\0\0\0M4A mp42"), box(b"mdat", draw.randbytes(SIZE - 1000))
    behind = box(b"free", draw.randbytes(200))

    def index(offsets):
        table = box(b"stco", bytes(4), struct.pack(f">I{len(offsets)}I", len(offsets), *offsets))
        reference = box(b"dref", bytes(4), struct.pack(">I", 1), box(b"url ", struct.pack(">I", 1)))
        samples = box(b"stbl", box(b"stsd", b"a"), table, box(b"stsz", b"b"))
        information = box(b"minf", box(b"smhd", b"c"), box(b"dinf", reference), samples)
        track = box(b"trak", box(b"tkhd", b"e"), box(b"mdia", box(b"mdhd"), information))
        return box(b"moov", box(b"mvhd", b"d"), track)

    offsets = [len(front) + 8 + 100 * number for number in range(50)]
    length = len(index(offsets))
    return (
        front + media + index(offsets) + behind,
        front + index([offset + length for offset in offsets]) + media + behind,
        [len(front), len(front) + length, len(front) + length + len(media)],
    )


@pytest.fixture(params=[("sound.m4a", "audio/mp4"), ("Sound.MOV", "video/quicktime")], ids=["m4a", "mov"])
def movie_files(request, entry, draw):
    """A movie as it is, the same with its index in front, and where the latter has borders."""
    name, kind = request.param
    stored, served, borders = movie(draw)
    check(stored != served and len(stored) == len(served), "the movie is not rearranged")
    plain, sound = put(entry, "/api/file/", name, stored), File(entry, "/audio/", name, served)
    plain.media_type = sound.media_type = kind
    return plain, sound, borders


def test_ranges_across_the_borders_of_a_movie(movie_files):
    """At a border, what is on the disk ends, and what is not begins."""
    *files, borders = movie_files
    for file in files:
        check_whole(file, file.ask(), "no range")
        end = len(file.content) - 1
        for border in borders:
            for before, behind in ((1, 0), (0, 1), (3, 3), (border, end + 1 - border)):
                first, last = max(0, border - before), min(border + behind, end)
                check_ranges(file, file.ranges(f"bytes={first}-{last}"), [(first, last)], f"{first} to {last}")
        wanted = [(border - 2, border + 2) for border in reversed(borders)]
        text = "bytes=" + ",".join(f"{first}-{last}" for first, last in wanted)
        check_ranges(file, file.ranges(text), wanted, text)
        check_unsatisfiable(file, file.ranges(f"bytes={end + 1}-"), "beyond the end")
        check_ranges(file, file.ranges("bytes=-7"), [(end - 6, end)], "the end")


def test_a_movie_begun_on_one_route_is_not_ended_with_the_other(movie_files):
    """They are not the same bytes."""
    plain, sound, _ = movie_files
    check(plain.tag != sound.tag, f"{sound}: one tag for two representations")
    for one, other in ((plain, sound), (sound, plain)):
        check_ranges(one, one.ask(PART, ("If-Range", one.tag)), [(5, 9)], "its own tag")
        check_whole(one, one.ask(PART, ("If-Range", other.tag)), "the tag of the other")
        check(one.ask(("If-None-Match", one.tag)).status == 304, f"{one}: If-None-Match")
        check_whole(one, one.ask(("If-None-Match", other.tag)), "If-None-Match of the other")
        check(one.ask(PART, ("If-Match", other.tag)).status == 412, f"{one}: If-Match of the other")


def test_head_of_a_movie_has_the_fields_of_get(movie_files):
    file = movie_files[1]
    head = file.ask(("Range", "bytes=0-9"), method="HEAD")
    check(head.status == 200 and without_date(head) == without_date(file.ask()), f"{file}: HEAD has {head.fields}")


def test_a_movie_of_the_same_length_in_its_place_is_another_one(movie_files, draw):
    """Its index is another one, too."""
    sound = movie_files[1]
    check_whole(sound, sound.ask(), "no range")
    old_tag = sound.tag
    stored, sound.content, _ = movie(draw)
    in_place(sound, stored)
    check_whole(sound, sound.ask(PART, ("If-Range", old_tag)), "changed")
    check(sound.path.read_bytes() == stored, f"{sound}: the file on the disk was changed")


@pytest.mark.parametrize("fields", [[], [("Range", "bytes=0-1")]], ids=["whole", "range"])
def test_what_is_no_sound_has_no_place_among_sounds(entry, fields):
    put(entry, "/api/file/", "text.txt", b"text")
    entry.refused(415, "unsupported-media-type", "GET", "/audio/text.txt", fields=fields)
    entry.refused(404, "not-found", "GET", "/audio/none.mp3", fields=fields)


def test_answers_say_when_they_were_given(entry):
    """Without that (section 6.6.1), no client can trust Last-Modified."""
    put(entry, "/api/file/", "sound.mp3", b"sound")
    for target in ("/healthz", "/api/file/sound.mp3", "/nowhere"):
        # The C library's time() is behind the exact clock by up to a tick of the kernel, a hundredth of a second.
        before = present_second()
        date, texts = entry.ask("GET", target).field("Date"), seconds_since(before)
        check(date in texts, f"{target} ({entry.name}): Date {date}, not {texts}")
