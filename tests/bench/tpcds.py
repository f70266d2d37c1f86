"""Makes the data and the queries of BenchmarkTPCDS: tpcds.py DIRECTORY [SCALE_FACTOR].

It needs the packages duckdb and duckdb-extension-tpcds of the same version, which hold TPC-DS's generator. The directory gets a
Parquet file of each table and a file of each query (q01.sql and on).
"""

import importlib.resources
import pathlib
import sys

import duckdb


def main(directory, scale_factor="1"):
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    extension = next((importlib.resources.files("duckdb_extension_tpcds") / "extensions").glob("*/tpcds.duckdb_extension"))
    db = duckdb.connect()
    db.execute(f"LOAD '{extension}'")
    db.execute(f"CALL dsdgen(sf = {float(scale_factor)})")
    for (table,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        db.execute(f"COPY {table} TO '{directory / table}.parquet'")
    for number, query in db.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall():
        (directory / f"q{number:02}.sql").write_text(query)


main(*sys.argv[1:])
