"""The OpenAPI document: it is valid, says what it must of each route, and has every route and parameter that the server
has, and no other. No daemon runs; the server's side is read from its sources."""

import re
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from local_api import DOCUMENT, openapi, query_parameters
from peerd_harness import check

ROOT = Path(__file__).resolve().parent.parent.parent
SERVER = ROOT / "Sources" / "LocalAPI"
WEB = DOCUMENT.parent.parent
ROUTE = re.compile(r'\bRoute\(\.([A-Z]+), "([^"]+)"(?:\)|, query: )')
ANY_ROUTE = re.compile(r"\bRoute\(\.[A-Z]+,")
# The one place whose routes are not written down, but made of the files in WEB.
FILES_SOURCE = SERVER / "Routes" / "WebFileRoutes.swift"
PARAMETER = re.compile(r'(?:(?:query|parameters)\.(?:one|all|number|flag)\(|wishes\[)"([a-z_]+)"')
STABILITIES = ("stable", "experimental")


def operations():
    for path, methods in openapi()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_the_document_is_valid():
    errors = [error.message for error in OpenAPIV31SpecValidator(openapi()).iter_errors()]
    check(not errors, f"{errors[:5]}")


def test_each_operation_has_a_name_and_says_how_stable_it_is():
    names = set()
    for method, path, operation in operations():
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


def test_the_document_has_the_routes_of_the_server_and_no_others():
    described = {(method, path) for method, path, _ in operations()}
    served, files = served_routes(), served_files()
    check(len(served) > 40 and len(files) > 15, f"{len(served)} routes and {len(files)} files were found")
    missing = served - described
    check(not missing, f"the server has routes that the document lacks: {sorted(missing)}")
    others = described - served
    undescribed = {file for file in files if not any(fits(file, path) for _, path in others)}
    check(not undescribed, f"the server has files that the document lacks: {sorted(undescribed)}")
    dead = {route for route in others if route[0] != "GET" or not any(fits(file, route[1]) for file in files)}
    check(not dead, f"the document has routes that the server lacks: {sorted(dead)}")


def test_the_document_has_the_parameters_that_the_server_reads_and_no_others():
    read = {name for source in SERVER.rglob("*.swift") for name in PARAMETER.findall(source.read_text("utf-8"))}
    document = openapi()
    described = {name for _, _, operation in operations() for name in query_parameters(document, operation)}
    check(read == described, f"parameters: {sorted(read - described)} lack, {sorted(described - read)} are not read")
