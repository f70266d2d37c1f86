"""Runs queries of another engine over the files of Iceberg tables: engines.py ENGINE TABLES.json [THREADS].

TABLES.json maps a table's name to its Parquet "files" and its "metadata" file. Spark reads the tables as Iceberg's when
SERAC_BENCH_ICEBERG_JAR names the Iceberg runtime for it, else their files; Trino is the server that SERAC_BENCH_TRINO names,
unpacked, with a Java for it at SERAC_BENCH_TRINO_JAVA. Each line of standard input is a query as a JSON string; each line of standard
output says how many rows it had, or what went wrong. The first line names the engine's version.
"""

import atexit
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request


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


def trino(tables, threads):
    home = os.environ["SERAC_BENCH_TRINO"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    work = pathlib.Path(tempfile.mkdtemp(prefix="trino"))
    (work / "etc/catalog").mkdir(parents=True)
    (work / "etc/node.properties").write_text(f"node.environment=bench\nnode.id=bench\nnode.data-dir={work}/data\n")
    (work / "etc/config.properties").write_text(
        f"coordinator=true\nnode-scheduler.include-coordinator=true\nhttp-server.http.port={port}\ndiscovery.uri={url}\n"
    )
    (work / "etc/jvm.config").write_text(
        f"-Xmx4G\n-XX:ActiveProcessorCount={threads}\n-Djdk.attach.allowAttachSelf=true\n--add-modules=jdk.incubator.vector\n"
        "--sun-misc-unsafe-memory-access=allow\n"
    )
    # The Hadoop file system is the one that takes the tables' locations, which are paths without a scheme.
    (work / "etc/catalog/lake.properties").write_text(
        f"connector.name=iceberg\niceberg.catalog.type=testing_file_metastore\nhive.metastore.catalog.dir=file://{work}/meta\n"
        "iceberg.register-table-procedure.enabled=true\nfs.hadoop.enabled=true\n"
    )
    java = os.environ["SERAC_BENCH_TRINO_JAVA"]
    server = subprocess.Popen(
        [f"{home}/bin/launcher", "run", "--etc-dir", str(work / "etc")],
        env={**os.environ, "JAVA_HOME": java, "PATH": f"{java}/bin:{os.environ['PATH']}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def stop():
        server.terminate()
        server.wait()
        shutil.rmtree(work, ignore_errors=True)

    atexit.register(stop)
    headers = {"X-Trino-User": "bench", "X-Trino-Catalog": "lake", "X-Trino-Schema": "tpch"}

    def fetch(address, body=None):
        with urllib.request.urlopen(urllib.request.Request(address, data=body, headers=headers)) as response:
            return json.load(response)

    def run(sql):
        page, rows = fetch(f"{url}/v1/statement", sql.encode()), []
        while True:
            if "error" in page:
                raise RuntimeError(page["error"]["message"])
            rows += page.get("data", [])
            if "nextUri" not in page:
                return rows
            page = fetch(page["nextUri"])

    deadline = time.monotonic() + 180
    while True:
        try:
            run("SELECT 1")
            break
        except (OSError, RuntimeError):  # it starts
            if time.monotonic() > deadline or server.poll() is not None:
                raise
            time.sleep(1)
    run(f"CREATE SCHEMA lake.tpch WITH (location = 'file://{work}/meta/tpch')")
    for name, table in tables.items():
        location, file = table["metadata"].removeprefix("file://").split("/metadata/")
        run(
            f"CALL lake.system.register_table(schema_name => 'tpch', table_name => '{name}', "
            f"table_location => '{location}', metadata_file_name => '{file}')"
        )
    return run("SELECT node_version FROM system.runtime.nodes")[0][0], lambda sql: len(run(sql.strip().rstrip(";")))


def main():
    engine, path = sys.argv[1], sys.argv[2]
    threads = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    with open(path) as f:
        tables = json.load(f)
    version, run = {"datafusion": datafusion, "ballista": ballista, "spark": spark, "trino": trino}[engine](tables, threads)
    print(json.dumps({"version": version}), flush=True)
    for line in sys.stdin:
        try:
            print(json.dumps({"rows": run(json.loads(line))}), flush=True)
        except Exception as e:  # what the engine cannot do is a line in the table
            print(json.dumps({"error": str(e).splitlines()[0][:200] if str(e) else type(e).__name__}), flush=True)


main()
