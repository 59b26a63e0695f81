#!/usr/bin/env python3
"""The OpenAPI document: it is valid, says what it must of each route, and has every route and parameter that the server
has, and no other. No daemon runs; the server's side is read from its sources."""

import json
import re
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from peerd_harness import check, main_of_test, say

ROOT = Path(__file__).resolve().parent.parent.parent
SERVER = ROOT / "Sources" / "LocalAPI"
WEB = ROOT / "Sources" / "CWebFiles" / "web"
DOCUMENT = WEB / "api" / "openapi.json"
ROUTE = re.compile(r'\bRoute\(\.([A-Z]+), "([^"]+)"(?:\)|, query: )')
ANY_ROUTE = re.compile(r"\bRoute\(\.[A-Z]+,")
# The one place whose routes are not written down, but made of the files in WEB.
FILES_SOURCE = SERVER / "Routes" / "WebFileRoutes.swift"
PARAMETER = re.compile(r'(?:query|parameters)\.(?:one|all|number|flag)\("([a-z_]+)"')
STABILITIES = ("stable", "experimental")


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def check_operations(document):
    names = set()
    for method, path, operation in operations(document):
        what = f"{method} {path}"
        check(operation.get("x-stability") in STABILITIES, f"{what} does not say how stable it is")
        check(operation.get("summary") and operation["operationId"] not in names, f"{what} has no name of its own")
        names.add(operation["operationId"])
        for status, answer in operation["responses"].items():
            check("$ref" in answer or answer["description"], f"{what}: {status} is not described")


def plain(template):
    """A template as the document writes it: `{path…}`, which stands for several parts, is one parameter there, and so
    is `{name?}`, which may be empty."""
    return template.replace("…}", "}").replace("?}", "}")


def served_routes():
    """The methods and templates of the server, without its files."""
    found = set()
    for source in sorted(SERVER.rglob("*.swift")):
        text = source.read_text(encoding="utf-8")
        routes = ROUTE.findall(text)
        if source != FILES_SOURCE:
            check(
                len(routes) == len(ANY_ROUTE.findall(text)),
                f"{source.relative_to(ROOT)} has a route whose template is no literal, so that nobody can compare it",
            )
        found |= {(method, plain(template)) for method, template in routes}
    return found


def served_files():
    icon = re.search(r'iconPath = \(asked: "([^"]+)"', FILES_SOURCE.read_text(encoding="utf-8"))
    paths = {"/" + str(path.relative_to(WEB)) for path in WEB.rglob("*") if path.is_file()}
    return paths - {"/index.html"} | {"/", icon[1]}


def fits(path, template):
    return re.fullmatch(re.sub(r"\\\{[a-z]+\\\}", "[^/]+", re.escape(template)), path)


def check_routes(document):
    described = {(method, path) for method, path, _ in operations(document)}
    served, files = served_routes(), served_files()
    check(len(served) > 40 and len(files) > 15, f"{len(served)} routes and {len(files)} files were found")
    missing = served - described
    check(not missing, f"the server has routes that the document lacks: {sorted(missing)}")
    others = described - served
    undescribed = {file for file in files if not any(fits(file, path) for _, path in others)}
    check(not undescribed, f"the server has files that the document lacks: {sorted(undescribed)}")
    dead = {route for route in others if route[0] != "GET" or not any(fits(file, route[1]) for file in files)}
    check(not dead, f"the document has routes that the server lacks: {sorted(dead)}")
    return len(described)


def check_parameters(document):
    """Every parameter of a query that the server reads is described somewhere, and the other way around."""
    read = {name for source in SERVER.rglob("*.swift") for name in PARAMETER.findall(source.read_text("utf-8"))}
    shared = document["components"]["parameters"]
    described = set()
    for _, _, operation in operations(document):
        for parameter in operation.get("parameters", []):
            if "$ref" in parameter:
                parameter = shared[parameter["$ref"].rsplit("/", 1)[1]]
            if parameter["in"] == "query":
                described.add(parameter["name"])
    check(read == described, f"parameters: {sorted(read - described)} lack, {sorted(described - read)} are not read")


def run():
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    errors = [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()]
    check(not errors, f"{DOCUMENT.name}: {errors[:5]}")
    check_operations(document)
    count = check_routes(document)
    check_parameters(document)
    say(f"{DOCUMENT.name}: {count} operations, which are those of the server")


if __name__ == "__main__":
    main_of_test(run)
