"""Reads a result as Parquet with DuckDB: its types and values are those of the database."""

import datetime
import decimal

import duckdb

found = duckdb.sql("SELECT * FROM 'result.parquet'")
types = {name: str(kind) for name, kind in zip(found.columns, found.types)}
assert types == {
    "whole": "BIGINT",
    "exact": "DECIMAL(38,1)",
    "near": "DOUBLE",
    "yes": "BOOLEAN",
    "day": "DATE",
    "at": "TIMESTAMP WITH TIME ZONE",
    "clock": "TIMESTAMP",
    "city": "VARCHAR",
    "raw": "BLOB",
}, types
# DuckDB needs another package for times with a zone.
first, second = duckdb.sql("SELECT * REPLACE (epoch_us(at) AS at) FROM 'result.parquet'").fetchall()
at = datetime.datetime(2026, 11, 27, 8, 0, 0, 250_000, tzinfo=datetime.timezone.utc)
assert first == (
    9007199254740993,
    decimal.Decimal("0.3"),
    0.5,
    True,
    datetime.date(2026, 11, 27),
    round(at.timestamp() * 1_000_000),
    datetime.datetime(2026, 11, 27, 10, 0, 0),
    "北京",
    b"\x00\xff",
), first
assert second == (None,) * 9, second
