"""What the fuzzer keeps its hands off: the token that it asks with, the plugins that others stand on, and addresses.

It learns from answers, and would soon revoke its own token and quarantine the bundled plugins. It makes up data
sources, and none of them may name a host that somebody has.
"""

import os
from typing import Any

import schemathesis

OWN_TOKEN = int(os.environ["FUZZER_TOKEN_ID"])
UNKNOWN_TOKEN = 2**53

# Installed for it to do with as it likes.
OWN_PLUGIN = "greeter"
BUNDLED = (
    "doris",
    "mysql",
    "postgres",
    "sqlite",
    "local",
    "draw_chart",
    "lineage",
    "run_sql",
    "search_catalog",
    "write_sql",
)

# Members of a body that the server may connect to, and what stands there instead: nothing listens on port 1.
ADDRESSES = {
    "host": "127.0.0.1",
    "url": "postgres://user:password@127.0.0.1:1/database",
    "readUrl": "postgres://user:password@127.0.0.1:1/database",
    "baseUrl": "http://127.0.0.1:1/v1",
}
MODELS = ("/api/v1/nl2sql/models", "/api/v1/nl2sql/models/{id}")


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    if case.operation.path == "/api/v1/tokens/{id}" and is_own(case.path_parameters["id"]):
        case.path_parameters["id"] = UNKNOWN_TOKEN
    if case.operation.path == "/api/v1/plugins/{name}/quarantine":
        if any(name in str(case.path_parameters["name"]) for name in BUNDLED):
            case.path_parameters["name"] = OWN_PLUGIN
    # A model without an address would have its provider's own.
    if case.operation.path in MODELS and isinstance(case.body, dict):
        case.body["baseUrl"] = ADDRESSES["baseUrl"]
    keep_here(case.body)


def is_own(token: object) -> bool:
    try:
        return int(str(token)) == OWN_TOKEN
    except ValueError:
        return False


def keep_here(value: object) -> None:
    if isinstance(value, dict):
        for name, member in value.items():
            if name in ADDRESSES and isinstance(member, str) and not member.startswith("sqlite:"):
                value[name] = ADDRESSES[name]
            else:
                keep_here(member)
    elif isinstance(value, list):
        for item in value:
            keep_here(item)
