"""What schemathesis is told when it makes requests: not to wait, since a run has a minute for all of them."""

import schemathesis

TIMEOUT_MILLISECONDS = 50


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
        if timeout is None or isinstance(timeout, int) and TIMEOUT_MILLISECONDS < timeout <= 600_000:
            body["timeout_ms"] = TIMEOUT_MILLISECONDS
    return body
