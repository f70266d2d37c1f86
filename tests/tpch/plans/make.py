"""Makes Substrait plans of the TPC-H queries with producers other than Serac.

    python make.py PRODUCER SCHEMA QUERIES OUT

PRODUCER is datafusion, duckdb or ibis. SCHEMA is a file of CREATE TABLE statements, one a line. QUERIES is the directory
of q01.sql ... q22.sql. OUT gets one qNN.pb per query that the producer can make a plan of; why not of the others is
printed. The last line printed is the producer's version.
"""

import pathlib
import re
import sys


def tables(schema):
    """The tables of the schema file: name -> [(column, type, nullable)]."""
    found = {}
    for line in pathlib.Path(schema).read_text().splitlines():
        name, columns = re.fullmatch(r"CREATE TABLE (\w+) \((.*)\)", line).groups()
        found[name] = []
        for column in re.split(r", (?=[a-z])", columns):
            column, typ, required = re.fullmatch(r"(\w+) (\S+)( NOT NULL)?", column).groups()
            found[name].append((column, typ, required is None))
    return found


class DataFusion:
    def __init__(self, schema):
        import datafusion
        import pyarrow as pa

        self.version = "datafusion " + datafusion.__version__
        self.context = datafusion.SessionContext()
        types = {"INTEGER": pa.int32(), "BIGINT": pa.int64(), "VARCHAR": pa.string(), "DATE": pa.date32(),
                 "DECIMAL(15,2)": pa.decimal128(15, 2)}
        for name, columns in tables(schema).items():
            arrow = pa.schema([pa.field(c, types[t], n) for c, t, n in columns])
            self.context.register_record_batches(name, [[pa.RecordBatch.from_pylist([], schema=arrow)]])

    def plan(self, sql):
        from datafusion import substrait

        return substrait.Serde.serialize_bytes(sql.strip().rstrip(";"), self.context)


class DuckDB:
    def __init__(self, schema):
        import duckdb
        import duckdb_extension_substrait

        self.connect = lambda: duckdb.connect(config={"allow_unsigned_extensions": "true"})
        self.version = "duckdb " + duckdb.__version__
        self.extension = str(next(pathlib.Path(duckdb_extension_substrait.__file__).parent.rglob("*.duckdb_extension")))
        self.schema = pathlib.Path(schema).read_text()

    def plan(self, sql):
        db = self.connect()  # an internal error makes a database unusable
        db.load_extension(self.extension)
        db.sql(self.schema.replace("\n", ";"))
        # The tables are empty: their statistics would make every plan an empty result. The extension has no message for
        # some of what the other optimisers make.
        db.sql("SET disabled_optimizers = 'statistics_propagation,compressed_materialization'")
        return db.get_substrait(sql).fetchone()[0]


class Ibis:
    def __init__(self, schema):
        import ibis
        import ibis_substrait

        self.version = "ibis-substrait " + ibis_substrait.__version__
        types = {"INTEGER": "int32", "BIGINT": "int64", "VARCHAR": "string", "DATE": "date", "DECIMAL(15,2)": "decimal(15,2)"}
        self.catalog = {
            name: {c: ("" if n else "!") + types[t] for c, t, n in columns} for name, columns in tables(schema).items()
        }

    def plan(self, sql):
        import ibis
        from ibis_substrait.compiler.core import SubstraitCompiler

        return SubstraitCompiler().compile(ibis.parse_sql(sql.strip().rstrip(";"), self.catalog)).SerializeToString()


def main(producer, schema, queries, out):
    wrong = {("duckdb", "q13")}  # see README.md
    make = {"datafusion": DataFusion, "duckdb": DuckDB, "ibis": Ibis}[producer](schema)
    for file in sorted(pathlib.Path(queries).glob("q*.sql")):
        if (producer, file.stem) in wrong:
            continue
        try:
            plan = make.plan(file.read_text())
        except BaseException as err:  # DataFusion's panics are no Exceptions
            print(file.stem, "cannot be planned:", type(err).__name__, str(err).splitlines()[:1])
            continue
        (pathlib.Path(out) / (file.stem + ".pb")).write_bytes(plan)
    print(make.version)


if __name__ == "__main__":
    main(*sys.argv[1:])
