"""Every verb of the command line, with a daemon and without one: what it prints, its exit codes and error texts, file
modes, and values of all kinds to the bit."""

import json
import os
import re
import stat
import struct
import subprocess
import threading

import pytest

import naive_state
from peerd_harness import check, digest, explain_difference, program

# The documented exit codes.
FAILURE, USAGE, NO_SUCH_OBJECT, WORKSPACE, BUSY, STORAGE = 1, 2, 3, 4, 5, 7
NOBODY = "00000000-0000-4000-8000-000000000000"
# What verbs demand, by its name in their help.
DEMANDED = {"id": NOBODY, "name=value": "a=1", "shell": "bash", "moment": "now", "from": "now"}
DEMANDED_BESIDES = {"mv": ["--root"]}
# What verbs that need no workspace do without one, and without the files that they ask for.
OUTSIDE = {
    "init": 0, "branch": 0, "snapshot": 0, "completion": 0,
    "join": USAGE, "recover": USAGE, "preview": USAGE, "backup verify": STORAGE, "backup restore": STORAGE,
}


def peerd(*words, **environment):
    """The outcome of a command line that names no data directory."""
    environment = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(
        [program(), *words], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL, check=False
    )


def verbs_of(command, words=()):
    """The verbs and the verbs below them, with what the program says of each."""
    for verb in command.get("subcommands", []):
        if verb["commandName"] != "help":
            path = (*words, verb["commandName"])
            yield " ".join(path), verb
            yield from verbs_of(verb, path)


VERBS = dict(verbs_of(json.loads(peerd("--experimental-dump-help").stdout)["command"]))
every_verb = pytest.mark.parametrize("verb", VERBS)


def with_what_it_demands(verb):
    words = verb.split()
    for argument in VERBS[verb]["arguments"]:
        if not argument["isOptional"]:
            words += ["--" + argument["preferredName"]["name"]] if argument["kind"] == "option" else []
            words.append(DEMANDED.get(argument["valueName"], "thing"))
    return words + DEMANDED_BESIDES.get(verb, [])


@every_verb
def test_help(verb):
    helps = [peerd(*verb.split(), "--help"), peerd("help", *verb.split())]
    for done in helps:
        check(done.returncode == 0 and f"USAGE: peerd {verb}" in done.stdout and not done.stderr, f"{done}")
        check("Exit codes" in done.stdout, "the help does not list exit codes")
    check(helps[0].stdout == helps[1].stdout, "two ways to ask, two answers")


@every_verb
def test_a_wrong_command_line_is_refused_with_one_error(verb):
    unknown = "Unknown option '--no-such-option'"
    wrong = {(*words, "--no-such-option"): unknown for words in (with_what_it_demands(verb), verb.split())}
    if with_what_it_demands(verb) != verb.split() and verb not in DEMANDED_BESIDES:
        wrong[tuple(verb.split())] = "Missing expected argument"
    for words, reason in wrong.items():
        done = peerd(*words, PEERD_DIR="/nowhere")
        check(done.returncode == USAGE and not done.stdout, f"{words}: {done}")
        first, *rest = done.stderr.splitlines()
        check(first.startswith(f"Error: {reason}") and "Error" not in "".join(rest), f"{words}: {done.stderr}")
        check(f"See 'peerd {verb}" in rest[-1], f"{words}: the help is not named: {done.stderr}")


@every_verb
def test_outside_of_a_workspace(world, verb):
    directory = world.root / "none"
    code = OUTSIDE.get(verb, WORKSPACE)
    done = peerd(*with_what_it_demands(verb), PEERD_DIR=str(directory))
    check(done.returncode == code, f"exit code {done.returncode}, not {code}: {done}")
    listed = re.search(r"Exit codes: ([\d, \n]+);", peerd("help", *verb.split()).stdout)[1]
    check(str(code) in re.findall(r"\d+", listed), f"the help does not list the exit code {code}")
    check(bool(done.stdout) == (code == 0), f"{done}")
    check(done.stderr.count("\n") == (code != 0), f"not one error: {done.stderr}")
    check(code != WORKSPACE or ("peerd init" in done.stderr and "peerd join" in done.stderr), f"no advice: {done}")
    check(directory.exists() == (verb == "init"), "what is refused leaves a directory, or init makes none")


def test_the_help_lists_every_verb():
    check({"init", "run", "backup restore"} <= VERBS.keys(), f"the program names no verbs: {VERBS}")
    lines = peerd("--help").stdout.splitlines()
    missing = [verb for verb in VERBS if " " not in verb and not any(line.startswith(f"  {verb} ") for line in lines)]
    check(not missing, f"the help does not list {missing}")


def test_an_unknown_verb_is_refused():
    done = peerd("no-such-verb")
    check(done.returncode == USAGE and done.stderr and not done.stdout, f"an unknown verb: {done}")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    done = peerd("completion", shell)
    check(done.returncode == 0 and "peerd" in done.stdout, f"completion {shell}: {done.stderr}")


def test_the_environment_names_the_directory(world):
    peer = world.founder("dir")
    done = peerd("status", "--json", PEERD_DIR=str(peer.directory))
    check(done.returncode == 0 and json.loads(done.stdout) == peer.status(), "PEERD_DIR is not heeded")
    other = world.founder("other")
    done = peerd("status", "--json", "--dir", str(other.directory), PEERD_DIR=str(peer.directory))
    check(json.loads(done.stdout) == other.status() != peer.status(), "the option does not count more")
    done = peerd("init", XDG_STATE_HOME=str(world.root / "state"))
    check(done.returncode == 0 and (world.root / "state" / "peerd").is_dir(), f"XDG_STATE_HOME: {done.stderr}")


def test_a_directory_whose_path_is_too_long_for_a_socket(world):
    peer = world.peer("long")
    peer.directory = world.root / ("d" * 60) / ("e" * 60) / "data"
    peer.directory.parent.mkdir(parents=True)
    peer.run("init")
    peer.start()
    check(peer.create("note") in peer.objects(), "a long path does not work")


def test_a_second_daemon_is_refused(world):
    peer = world.founder("one")
    peer.start()
    peer.refused(BUSY, "run", "--listen", "127.0.0.1:0", "--no-discovery", mentions=[str(peer.directory)], seconds=20)
    check(peer.process.poll() is None and peer.run("status"), "the first daemon suffered")


@pytest.mark.parametrize("verb", [("invite",), ("open", "--print"), ("api", "--url")], ids=" ".join)
def test_a_daemon_that_starts_is_waited_for(world, verb):
    peer = world.founder("starting")
    starting = threading.Thread(target=peer.start)
    starting.start()
    try:
        check(peer.run(*verb).strip(), f"{verb} right behind run prints nothing")
    finally:
        starting.join()


def test_an_invite_without_a_daemon_is_refused(world):
    world.founder("alone").refused(BUSY, "invite", mentions=["No daemon runs"])


@pytest.fixture(params=[False, True], ids=["alone", "daemon"])
def peer(world, request):
    """A peer whose verbs open its directory themselves, or ask its daemon."""
    peer = world.founder("one")
    if request.param:
        peer.start()
    return peer


def family(peer):
    """Three objects: a root, and two below it."""
    root = peer.create("folder", "name=root")
    one = peer.create("note", "--kind", "short", "--parent", root, "title=one", "n=1", "done=false", "tags=[1,\"b\"]")
    return root, one, peer.create("note", "--parent", root, "title=two words = and more")


def test_nobody_else_can_read_the_directory(peer):
    family(peer)
    check(stat.S_IMODE(peer.directory.stat().st_mode) == 0o700, "the directory is open to others")
    for path in peer.directory.rglob("*"):
        mode = stat.S_IMODE(path.lstat().st_mode)
        wanted = 0o700 if path.is_dir() else 0o600
        check(mode == wanted, f"{path.name} has mode {mode:o}")


def test_a_second_init_is_refused(peer):
    peer.refused(WORKSPACE, "init")


def test_properties_are_written_and_shown(peer):
    root, one, two = family(peer)
    check(peer.run("get", two, "title") == "two words = and more", "a value with an equals sign")
    check(json.loads(peer.raw("get", "--json", one, "tags")) == [1, "b"], "get NAME --json")
    whole = json.loads(peer.raw("get", "--json", one))
    check(whole == peer.objects()[one], f"get --json is not what export shows: {whole}")
    check(whole["type"] == "note" and whole["kind"] == "short" and whole["parent"] == root, f"{whole}")
    check(whole["properties"] == {"title": "one", "n": 1, "done": False, "tags": [1, "b"]}, f"{whole}")

    peer.run("set", one, "n=2", "extra=null")
    check(peer.objects()[one]["properties"]["n"] == 2, "set")
    check(peer.objects()[one]["properties"]["extra"] is None, "null is a value")
    peer.run("unset", one, "extra")
    check("extra" not in peer.objects()[one]["properties"], "unset")
    peer.refused(NO_SUCH_OBJECT, "get", one, "extra", mentions=["extra"])
    peer.refused(USAGE, "set", one, "no-equals-sign")


def test_objects_move_in_the_tree(peer):
    root, one, two = family(peer)

    def below_root():
        return [item["id"] for item in peer.json("ls", root)]

    check(below_root() == [one, two], "the order of creation")
    peer.run("mv", two, root, "--before", one)
    check(below_root() == [two, one], "mv --before")
    peer.run("mv", two, "--root")
    check(below_root() == [one] and peer.objects()[two]["parent"] is None, "mv --root")
    peer.run("mv", two, one)
    peer.refused(FAILURE, "mv", root, two)
    peer.refused(FAILURE, "mv", root, root)
    peer.refused(USAGE, "mv", one)
    check("one" in peer.run("tree", root) and "two words" in peer.run("tree"), "tree")
    check(peer.run("ls"), "ls without an id")


def test_ids_may_be_abbreviated(peer):
    objects = family(peer)
    one = objects[1]
    prefix = next(one[:n] for n in range(4, 37) if sum(identity.startswith(one[:n]) for identity in objects) == 1)
    check(peer.run("get", prefix, "title") == "one", f"the unique prefix {prefix}")
    check(peer.run("get", one.upper(), "title") == "one", "an id in capitals")


def test_objects_that_are_not_there_are_refused(peer):
    one = peer.create("note")
    for words in (["get", NOBODY], ["set", NOBODY, "a=1"], ["rm", NOBODY], ["mv", NOBODY, "--root"],
                  ["mv", one, NOBODY], ["create", "note", "--parent", NOBODY], ["unset", NOBODY, "a"], ["ls", NOBODY],
                  ["tree", NOBODY]):
        peer.refused(NO_SUCH_OBJECT, *words, mentions=[NOBODY[:8]])


def test_a_key_names_one_object_of_its_type(peer):
    key = peer.create("day", "--key", "2025-01-01", "a=1")
    check(peer.create("day", "--key", "2025-01-01", "b=2") == key, "one key, two objects")
    check(peer.objects()[key]["properties"] == {"a": 1, "b": 2}, "the keyed object lost a property")
    check(peer.create("night", "--key", "2025-01-01") != key, "the type is not part of a key's meaning")


def test_a_deletion_takes_what_is_below(peer):
    objects = family(peer)
    peer.run("rm", objects[0])
    check(not set(objects) & peer.objects().keys(), "rm leaves something below")
    peer.refused(NO_SUCH_OBJECT, "get", objects[1])


@pytest.mark.parametrize("verb", ["status", "peers", "conflicts", "doctor", "restamp", "ls", "tree", "log"])
def test_verbs_that_show_print_json_too(peer, verb):
    peer.run("rm", family(peer)[1])
    text = peer.run(verb)
    check(verb != "restamp" or text == "Nothing is held.", "restamp where nothing is held")
    printed = peer.raw(verb, "--json")
    for line in printed.splitlines() if verb == "log" else [printed]:
        json.loads(line)


def test_the_log_of_one_object(peer):
    one = family(peer)[1]
    check(peer.run("log", "--object", one).strip(), "log --object")
    check(all(op["object"] == one for op in peer.operations("--object", one)), "log --object shows other objects")


def test_a_reader_that_goes_away_is_no_error(peer):
    peer.create("wide", *[f"n{number}={number}" for number in range(1000)])
    check(len(peer.raw("log")) > 1 << 16, "the log fits into a pipe, and tests nothing")
    command = f"'{program()}' log --dir '{peer.directory}' | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    check(done.stdout.count("\n") == 1 and "rror" not in done.stderr, f"log | head: {done.stderr}")


@pytest.mark.parametrize("place", [">&-", ">/dev/full", "| true"])
@pytest.mark.parametrize("daemon_runs", [True, False], ids=["daemon", "alone"])
def test_what_was_done_is_no_failure_if_its_output_is_lost(world, place, daemon_runs):
    """A script that is told of a failure does it again."""

    def status(peer, *words):
        text = " ".join(f"'{word}'" for word in (program(), words[0], "--dir", peer.directory, *words[1:]))
        script = f"set -o pipefail; {text} {place}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
        check(not done.stdout, f"{words}: {done.stdout}")
        check(place == "| true" or "output could not be written" in done.stderr, f"{words} says {done.stderr}")
        return done.returncode

    peer = world.peer("a")
    # What "init" shows exists once: without it there is no workspace. A pipe may have taken it before it was closed.
    if place != "| true":
        check(status(peer, "init") == FAILURE and not (peer.directory / "keys").exists(), "init")
    peer.run("init")
    if daemon_runs:
        peer.start()
    check(status(peer, "create", "note") == 0 and len(peer.objects()) == 1, "create")
    check(status(peer, "create", "--json", "note") == 0 and len(peer.objects()) == 2, "create --json")
    check(status(peer, "undo") == 0 and len(peer.objects()) == 1, "undo")
    check(status(peer, "backup", world.root / "one") == 0 and (world.root / "one").exists(), "backup")
    check(status(peer, "branch", "create", "x") == 0 and len(peer.json("branch", "list")) == 1, "branch create")
    check(status(peer, "branch", "switch", "x") == 0 and peer.json("status")["branch"]["name"] == "x", "branch switch")
    # Of what only shows something, the output is all there is.
    check(status(peer, "ls") == (141 if place == "| true" else FAILURE), "ls")
    if not daemon_runs:
        check((peer.directory / "lock").read_bytes() == b"", "it has not ended in order")


def test_help_that_nobody_can_read_is_a_failure():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([program(), "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
    check(done.returncode == FAILURE and b"No space left" in done.stderr, f"{done.returncode} {done.stderr}")


def test_a_list_that_breaks_off_says_so(world):
    peer = world.founder("ended")
    path = world.root / "many.json"
    path.write_text(json.dumps([{"type": "t", "properties": {"text": "x" * 2000}}] * 3000))
    peer.run("import", path)
    whole = peer.export()
    peer.start(words=["--no-http"])
    command = [program(), "export", "--dir", str(peer.directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        begin = process.stdout.read(1)
        peer.kill()
        output, error = process.communicate()
    check(whole.startswith(begin + output) and begin + output != whole, "the list is printed before it is whole")
    check(process.returncode == BUSY and b"stopped before it answered" in error, f"{process.returncode}: {error}")


def every_value(draw):
    """Every kind of JSON value, and many doubles."""
    values = [
        None, True, False, 0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), 0.0, -0.0, 1.0, 1.5, -2.5, 0.1, 1e300, 1e-300,
        5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e16, 123456789012345680.0, 1e21, 1e-7,
        -1.1754943508222875e-38, "", "text", "two\nlines", 'quote " and \\', "\u0001\u001f",
        "\u00e4\u00f6 \u4e16\u754c \U0001f600",
        "e\u0301", "5", "true", "null", [], {}, [1, [2, [3.0, None]]], {"b": 1, "a": {"c": [True]}},
        {"\u00e4": 1, "z": 2},
    ]
    while len(values) < 240:
        bits = draw.getrandbits(64)
        if (bits >> 52) & 0x7FF != 0x7FF:
            values.append(struct.unpack(">d", struct.pack(">Q", bits))[0])
    return values


def with_every_value(peer, draw):
    """An object with every value; returns it and them."""
    values = every_value(draw)
    return peer.create("values", *[f"v{number}={json.dumps(value)}" for number, value in enumerate(values)]), values


def test_values_come_back_to_the_bit(peer, draw):
    identity, values = with_every_value(peer, draw)
    shown = peer.objects()[identity]["properties"]
    for number, value in enumerate(values):
        check(naive_state.same(shown[f"v{number}"], value), f"{value!r} came back as {shown[f'v{number}']!r}")
    peer.run("set", identity, *[f"v{number}={json.dumps(value)}" for number, value in enumerate(reversed(values))])
    shown = peer.objects()[identity]["properties"]
    for number, value in enumerate(reversed(values)):
        check(naive_state.same(shown[f"v{number}"], value), f"{value!r} came back as {shown[f'v{number}']!r}")


def test_what_is_no_json_is_text(peer):
    raw = peer.create("raw", "a=plain text", "b=05", "c=1e5", "d={not json", "e= 1 ", "f=")
    want = {"a": "plain text", "b": "05", "c": 100000.0, "d": "{not json", "f": ""}
    have = peer.objects()[raw]["properties"]
    for name, value in want.items():
        check(naive_state.same(have[name], value), f"{name}: {have[name]!r}, not {value!r}")


def test_what_json_has_no_word_for(peer):
    special = peer.create("special", 'nan={"$double":"7ff8000000000001"}', 'bytes={"$bytes":"00ff10"}')
    want = {"nan": {"$double": "7ff8000000000001"}, "bytes": {"$bytes": "00ff10"}}
    check(peer.objects()[special]["properties"] == want, "what JSON has no word for")


def test_a_name_that_is_too_long_is_refused(peer):
    peer.refused(FAILURE, "set", peer.create("note"), f"{'n' * 600}=1")


def tree_of(items):
    return [(item["id"], tree_of(item["children"])) for item in items]


def test_what_is_exported_can_be_imported(world, peer, draw):
    _, one, two = family(peer)
    peer.run("mv", two, "--root", "--before", with_every_value(peer, draw)[0])
    peer.run("mv", one, two)
    peer.create("day", "--key", "monday", "--parent", two)
    exported = peer.export()
    check(exported == peer.export(), "two exports differ")
    path = world.root / "export.json"
    path.write_bytes(exported)
    other = world.founder("importer")
    other.run("import", path)
    mine, theirs = json.loads(exported), other.objects()
    check(len(mine) == len(theirs) == 5, f"{len(mine)} exported, {len(theirs)} there after the import")
    for item in mine:
        twin = theirs.get(item["id"])
        check(twin is not None, f"{item['id']} was not imported under its id")
        for field in ("type", "kind", "parent", "properties"):
            check(naive_state.same(item[field], twin[field]), f"{field}: {item[field]!r} became {twin[field]!r}")
    check(tree_of(other.json("tree")) == tree_of(peer.json("tree")), "the import has another order of siblings")
    other.run("import", path)
    for identity, item in other.objects().items():
        check(naive_state.same(item["properties"], theirs[identity]["properties"]), "a second import changed values")


def test_a_part_of_the_tree_is_exported(peer):
    family(peer)
    folder = peer.create("folder")
    inner = peer.create("note", "--parent", folder)
    part = json.loads(peer.raw("export", folder))
    check({item["id"] for item in part} == {folder, inner}, "export ID")


def test_one_state_with_a_daemon_and_without(world, draw):
    peer = world.founder("one")
    family(peer)
    with_every_value(peer, draw)
    before = peer.export()
    peer.start()
    check(peer.export() == before, "the daemon shows another state")
    family(peer)
    with_every_value(peer, draw)
    peer.run("rm", family(peer)[0])
    during = peer.export()
    peer.stop()
    check(not (peer.directory / "socket").exists(), "the daemon leaves its socket behind")
    after = peer.export()
    if after != during:
        explain_difference(during, after, "with the daemon", "without")
    check(after == during, f"another state after the daemon: {digest(during)}, {digest(after)}")
