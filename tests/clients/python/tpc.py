"""Prints the queries and the tables of TPC-H and TPC-DS as DuckDB has them, as JSON."""

import json

import duckdb

benchmarks = []
for name, generator in (("tpch", "dbgen"), ("tpcds", "dsdgen")):
    connection = duckdb.connect()
    connection.execute(f"LOAD {name}")
    connection.execute(f"CALL {generator}(sf = 0)")
    queries = connection.execute(f"SELECT query FROM {name}_queries() ORDER BY query_nr").fetchall()
    tables = connection.execute("SELECT sql FROM duckdb_tables()").fetchall()
    benchmarks.append({"queries": [query for (query,) in queries], "tables": [table for (table,) in tables]})
print(json.dumps(benchmarks))
