"""What schemathesis is told when it makes requests: not to wait, since a run has little time for all of them, and not
to have the daemon look for machines elsewhere than here."""

import schemathesis

TIMEOUT_MILLISECONDS = 50
TIMEOUT_MILLISECONDS_MAX = 366 * 86_400_000
# Nobody listens there.
NOWHERE = {"host": "127.0.0.1", "port": 1}


@schemathesis.hook
def map_query(context, query):
    if query and isinstance(query.get("wait"), int) and 0 < query["wait"] <= 60:
        query["wait"] = 0
    return query


@schemathesis.hook
def map_body(context, body):
    if context.operation.path == "/api/sync" and isinstance(body, dict):
        timeout = body.get("timeout_ms")
        # A timeout that is wrong stays wrong.
        if timeout is None or isinstance(timeout, int) and TIMEOUT_MILLISECONDS < timeout <= TIMEOUT_MILLISECONDS_MAX:
            body["timeout_ms"] = TIMEOUT_MILLISECONDS
    if context.operation.path == "/api/peers" and isinstance(body, dict):
        addresses = body.get("addresses")
        if isinstance(addresses, list):
            body["addresses"] = [NOWHERE if is_address(address) else address for address in addresses]
    return body


def is_address(value):
    if not isinstance(value, dict) or not isinstance(value.get("host"), str) or not value["host"]:
        return False
    port = value.get("port")
    return isinstance(port, int) and not isinstance(port, bool) and 1 <= port <= 65_535
