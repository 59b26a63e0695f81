#!/usr/bin/env python3
"""Checks and lists what other packages can use, from the symbol graphs of the library's modules.

    public_api.py GRAPHS LISTING            check, and compare the listing with what the graphs have
    public_api.py GRAPHS LISTING --update   check, and write the listing

GRAPHS is a folder with the symbol graphs of all modules, those of PeerdKit with what it exports again. Graphs for DocC
are written to GRAPHS/docc: those of PeerdKit, without members that the compiler made.
"""

import collections
import difflib
import json
import pathlib
import sys

LIBRARY = "PeerdKit"
# What applications can import; each is listed, and the first is what DocC shows.
LIBRARIES = (LIBRARY, "PeerdPreview")

# Outside of the library only these are public.
VALUE_TYPES = {"swift.struct", "swift.enum"}
TYPES = VALUE_TYPES | {"swift.class", "swift.protocol", "swift.extension"}

# Every type has these, and nobody writes them.
IMPLIED = {"BitwiseCopyable", "Copyable", "Escapable", "SendableMetatype"}


class Module:
    """The public symbols of one module."""

    def __init__(self, name, paths):
        self.name = name
        self.graphs = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}
        self.symbols = [symbol for graph in self.graphs.values() for symbol in graph["symbols"]]
        self.relationships = [one for graph in self.graphs.values() for one in graph["relationships"]]

    @property
    def written(self):
        """The declarations of the sources; the compiler makes other symbols."""
        return [one for one in self.symbols if "location" in one and one["kind"]["identifier"] != "swift.extension"]


def load(folder):
    paths = collections.defaultdict(list)
    for path in sorted(folder.glob("*.symbols.json")):
        paths[path.name.removesuffix(".symbols.json").split("@")[0]].append(path)
    return {name: Module(name, files) for name, files in paths.items()}


def place(symbol):
    path = symbol["location"]["uri"].removeprefix("file://")
    return f"{path}:{symbol['location']['position']['line'] + 1}: {'.'.join(symbol['pathComponents'])}"


def violations(modules):
    """What is wrong with the public surface, one line each."""
    shown = {symbol["identifier"]["precise"] for name in LIBRARIES for symbol in modules[name].symbols}
    for module in modules.values():
        for symbol in module.written:
            # A comment of a protocol of another module is no comment on this.
            if symbol.get("docComment", {}).get("module") not in modules:
                yield f"{place(symbol)} has no documentation"
            if module.name in LIBRARIES:
                continue
            kind = symbol["kind"]
            is_top = len(symbol["pathComponents"]) == 1
            if kind["identifier"] not in VALUE_TYPES and (is_top or kind["identifier"] in TYPES):
                yield f"{place(symbol)} is public, and a {kind['displayName'].lower()} outside of the libraries"
            if symbol["identifier"]["precise"] not in shown:
                yield f"{place(symbol)} is public, and no library exports it"


def declaration(symbol):
    """The declaration in one line, with the condition of the extension that it is in."""
    text = " ".join("".join(fragment["spelling"] for fragment in symbol["declarationFragments"]).split())
    conditions = [
        f"{one['lhs']}: {one['rhs']}" for one in symbol.get("swiftExtension", {}).get("constraints", [])
        if one["kind"] == "conformance" and f"{one['lhs']} : {one['rhs']}" not in text and one["rhs"] != "Sendable"
    ]
    return text + (" where " + ", ".join(conditions) if conditions else "")


def adoptions(symbol, conformances):
    """What a type conforms to, as one would write it."""
    adopted = conformances[symbol["identifier"]["precise"]]
    if {"Decodable", "Encodable"} <= adopted:
        adopted = adopted - {"Decodable", "Encodable"} | {"Codable"}
    if "Hashable" in adopted or "Comparable" in adopted:
        adopted = adopted - {"Equatable"}
    if "PropertyValue" in adopted or "Error" in adopted:
        adopted = adopted - {"Sendable"}
    return sorted(adopted - IMPLIED)


def head(symbol, conformances):
    """The line of a type: its declaration, with all that it conforms to."""
    path = symbol["pathComponents"]
    text, _, condition = "".join(one["spelling"] for one in symbol["declarationFragments"]).partition(" where ")
    if symbol["kind"]["identifier"] == "swift.protocol":
        text = text.partition(" :")[0]
    if len(path) > 1:
        text = text.replace(f" {path[-1]}", " " + ".".join(path), 1)
    adopted = adoptions(symbol, conformances)
    return text + (": " + ", ".join(adopted) if adopted else "") + (" where " + condition if condition else "")


def listing(library):
    """The declarations, one a line: the global ones, then the types in order with their members, by name."""
    names = {symbol["identifier"]["precise"]: symbol["pathComponents"][-1] for symbol in library.symbols}
    conformances = collections.defaultdict(set)
    for one in library.relationships:
        if one["kind"] == "conformsTo":
            target = one.get("targetFallback") or names[one["target"]]
            conformances[one["source"]].add(target.split(".")[-1])
    types, members = {}, collections.defaultdict(list)
    for symbol in library.symbols:
        path = symbol["pathComponents"]
        if symbol["kind"]["identifier"] in TYPES:
            types[".".join(path)] = head(symbol, conformances)
        elif "location" in symbol:
            members[".".join(path[:-1])].append((path[-1], declaration(symbol)))
    blocks = [[text] for _, text in sorted(members[""])]
    blocks += [[types[name]] + ["    " + text for _, text in sorted(members[name])] for name in sorted(types)]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def write_docc_graphs(library, exported, folder):
    """Copies the graphs, as DocC is to show them.

    It leaves out comments from another module than the page's, so what is exported again counts as the library's own.
    """
    folder.mkdir()
    for name, graph in library.graphs.items():
        graph["symbols"] = [
            symbol for symbol in graph["symbols"]
            if "location" in symbol or symbol["kind"]["identifier"] == "swift.extension"
        ]
        for symbol in graph["symbols"]:
            if symbol.get("docComment", {}).get("module") in exported:
                symbol["docComment"]["module"] = LIBRARY
        kept = {symbol["identifier"]["precise"] for symbol in graph["symbols"]}
        graph["relationships"] = [
            one for one in graph["relationships"]
            if one["kind"] not in {"memberOf", "optionalMemberOf"} or one["source"] in kept
        ]
        (folder / name).write_text(json.dumps(graph), encoding="utf-8")


def main(graphs, listing_path, *options):
    graphs, listing_path = pathlib.Path(graphs), pathlib.Path(listing_path)
    modules = load(graphs)
    library = modules[LIBRARY]
    found = list(violations(modules))
    new = "\n".join(listing(modules[name]) for name in LIBRARIES)
    if options == ("--update",):
        listing_path.write_text(new, encoding="utf-8")
    old = listing_path.read_text(encoding="utf-8") if listing_path.exists() else ""
    if new != old:
        lines = old.splitlines(), new.splitlines()
        found += difflib.unified_diff(*lines, str(listing_path), "the sources", n=0, lineterm="")
        found.append(f"The public surface has changed. If that is meant: make public-api, and commit {listing_path}.")
    write_docc_graphs(library, set(modules), graphs / "docc")
    if found:
        sys.exit("\n".join(found))
    count = sum(len(modules[name].written) for name in LIBRARIES)
    print(f"{count} public declarations, all documented and listed")


if __name__ == "__main__":
    main(*sys.argv[1:])
