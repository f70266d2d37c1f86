"""Runs queries of another engine over the files of Iceberg tables: engines.py ENGINE TABLES.json [THREADS].

TABLES.json maps a table's name to its Parquet "files" and its "metadata" file. Spark reads the tables as Iceberg's when
SERAC_BENCH_ICEBERG_JAR names the Iceberg runtime for it, else their files. Each line of standard input is a query as a JSON string; each line of standard
output says how many rows it had, or what went wrong. The first line names the engine's version.
"""

import json
import os
import sys


def register(context, tables):
    for name, table in tables.items():
        frame, *others = [context.read_parquet(f) for f in table["files"]]
        for other in others:
            frame = frame.union(other)
        context.register_view(name, frame)


def datafusion(tables, threads):
    import datafusion as df

    config = df.SessionConfig().with_target_partitions(threads)
    context = df.SessionContext(config)
    register(context, tables)
    return df.__version__, lambda sql: sum(b.num_rows for b in context.sql(sql).collect())


def ballista(tables, threads):
    import ballista as b

    context = b.BallistaSessionContext.standalone() if hasattr(b, "BallistaSessionContext") else b.BallistaBuilder().standalone()
    register(context, tables)
    return getattr(b, "__version__", "?"), lambda sql: sum(x.num_rows for x in context.sql(sql).collect())


def spark(tables, threads):
    import pyspark
    from pyspark.sql import SparkSession

    jar = os.environ.get("SERAC_BENCH_ICEBERG_JAR")
    session = (
        SparkSession.builder.master(f"local[{threads}]")
        .config("spark.jars", jar or "")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", str(threads))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    for name, table in tables.items():
        frame = session.read.format("iceberg").load(table["metadata"]) if jar else session.read.parquet(*table["files"])
        frame.createOrReplaceTempView(name)
    version = pyspark.__version__ + (" with Iceberg" if jar else "")
    return version, lambda sql: len(session.sql(sql).collect())


def main():
    engine, path = sys.argv[1], sys.argv[2]
    threads = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    with open(path) as f:
        tables = json.load(f)
    version, run = {"datafusion": datafusion, "ballista": ballista, "spark": spark}[engine](tables, threads)
    print(json.dumps({"version": version}), flush=True)
    for line in sys.stdin:
        try:
            print(json.dumps({"rows": run(json.loads(line))}), flush=True)
        except Exception as e:  # what the engine cannot do is a line in the table
            print(json.dumps({"error": str(e).splitlines()[0][:200] if str(e) else type(e).__name__}), flush=True)


main()
