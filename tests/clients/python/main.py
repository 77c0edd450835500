"""A program that a user of the interface might write, with a client generated from what the server says of itself.

It imports every module of the client, and fails where the server does not keep to the description.
"""

import importlib
import os
import pkgutil
from typing import TypeVar

import lakeport_client
from lakeport_client import AuthenticatedClient, Client
from lakeport_client.api.audit import list_audit
from lakeport_client.api.datasources import create_datasource, list_databases, list_datasources, start_sync
from lakeport_client.api.me import get_me
from lakeport_client.api.plugins import get_plugin, list_plugins
from lakeport_client.api.tokens import create_token, list_tokens, revoke_token
from lakeport_client.models import CreateDatasource, CreateToken

URL = os.environ["LAKEPORT_URL"]
Expected = TypeVar("Expected")


def main() -> None:
    for module in pkgutil.walk_packages(lakeport_client.__path__, "lakeport_client."):
        importlib.import_module(module.name)

    with Client(base_url=URL) as local:
        plugins = answer(list_plugins.sync(client=local)).data
        sqlite = next(plugin for plugin in plugins if plugin.name == "sqlite")
        assert sqlite.digest, "the bundled plugin is active"
        one = answer(get_plugin.sync("sqlite", client=local)).data
        assert [generation.digest for generation in one.generations] == [sqlite.digest]

        unknown = get_plugin.sync_detailed("no such/plugin", client=local)
        assert unknown.status_code == 404, unknown

        source = CreateDatasource(name="shop", kind="sqlite", url=os.environ["DATASOURCE_URL"])
        shop = answer(create_datasource.sync(client=local, body=source)).data
        synced = answer(start_sync.sync(shop.id, client=local)).data
        assert (str(synced.state), synced.tables.new, synced.errors) == ("success", 2, []), synced
        sources = answer(list_datasources.sync(client=local, page_size=10)).data
        assert sorted(source.name for source in sources.records) == ["lakeport", "shop"], sources
        databases = answer(list_databases.sync(shop.id, client=local)).data
        assert [database.name for database in databases] == ["main"], databases

        # The first token ends local mode: from here on every request needs one.
        body = CreateToken.from_dict({"name": "python", "role": "admin"})
        made = answer(create_token.sync(client=local, body=body)).data
        assert get_me.sync_detailed(client=local).status_code == 401

    with AuthenticatedClient(base_url=URL, token=made.token) as client:
        me = answer(get_me.sync(client=client)).data
        assert (me.name, str(me.role)) == ("python", "admin"), me
        assert [token.id for token in answer(list_tokens.sync(client=client)).data] == [made.id]
        assert answer(list_audit.sync(client=client, operation="createToken")).data.total == 1

        answer(revoke_token.sync(made.id, client=client))
        assert get_me.sync_detailed(client=client).status_code == 401


def answer(parsed: "Expected | lakeport_client.models.ErrorAnswer | None") -> Expected:
    assert parsed is not None
    assert not isinstance(parsed, lakeport_client.models.ErrorAnswer), parsed
    return parsed


main()
