package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	ice "github.com/apache/iceberg-go"
	icetable "github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
)

// everyType is a table of all types with partitions by every transform, and its rows: extremes, NULLs, dates before 1970.
const everyType = `CREATE TABLE types (
	id BIGINT NOT NULL, b BOOLEAN, i INT, l LONG, f FLOAT, d DOUBLE, dec DECIMAL(18,4), big DECIMAL(38,10), dt DATE, tm TIME,
	ts TIMESTAMP, tz TIMESTAMPTZ, s STRING, u UUID, bin BINARY, li INT[], st STRUCT(a INT, b VARCHAR), mp MAP(VARCHAR, BIGINT)
) PARTITIONED BY (%s)`

const everyTypeRows = `SELECT i,
	CASE WHEN i %% 7 = 0 THEN NULL ELSE i %% 2 = 0 END,
	CASE WHEN i %% 11 = 0 THEN NULL ELSE (i * 7919 %% 2000 - 1000)::INT END,
	(i - 500) * 1000000007::BIGINT,
	CASE i WHEN 1 THEN 'NaN'::FLOAT WHEN 2 THEN '-0.0'::FLOAT WHEN 3 THEN 'inf'::FLOAT ELSE (i / 8.0)::FLOAT END,
	CASE i WHEN 1 THEN 'NaN'::DOUBLE WHEN 4 THEN '-inf'::DOUBLE ELSE i / 3.0 END,
	((i - 500) / 16.0)::DECIMAL(18,4),
	((i - 500) * 1234567.0000000001)::DECIMAL(38,10),
	DATE '1965-03-01' + (i %% 50 * 170)::INT,
	TIME '00:00:00' + to_seconds(i * 61),
	TIMESTAMP '1969-12-30 12:00:00' + to_minutes(i * 7),
	TIMESTAMPTZ '1969-12-30 12:00:00+00' + to_minutes(i * 49),
	CASE WHEN i %% 13 = 0 THEN NULL WHEN i %% 5 = 0 THEN '' ELSE 'näme ' || (i %% 37) END,
	md5(i::VARCHAR)::UUID,
	('b' || (i %% 3))::BLOB,
	CASE WHEN i %% 9 = 0 THEN NULL ELSE [i, NULL, -i]::INT[] END,
	{'a': i::INT, 'b': 'x' || i},
	MAP {'k' || (i %% 4): i}
	FROM range(%d, %d) r(i)`

// partitionings are every transform, alone and together.
var partitionings = map[string]string{
	"identity":  "s",
	"bucket":    "bucket(4, l), bucket(3, s)",
	"truncate":  "truncate(100, i), truncate(3, s)",
	"year":      "year(dt)",
	"month":     "month(ts)",
	"day":       "bucket(2, id), day(tz)",
	"hour":      "truncate(1000, id), hour(ts)",
	"decimals":  "bucket(3, dec), truncate(50000, dec)",
	"binary":    "bin, bucket(2, u)",
	"date":      "dt",
	"nullables": "b",
}

// TestPartitionedWritesAreReadByOthers writes tables with every transform on two executors and reads them back with
// Serac, with DuckDB on the files, with iceberg-go's own scan and, where Python has it, with PyIceberg.
func TestPartitionedWritesAreReadByOthers(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA w")
	client.Query("USE w")
	client.Query("SET distribution_threshold = '0B'")
	client.Query("SET target_task_size = '16KB'")
	client.Query("CREATE TABLE source AS " + fmt.Sprintf(everyTypeRows, 0, 250))
	for k := 1; k < 4; k++ {
		client.Query("INSERT INTO source " + fmt.Sprintf(everyTypeRows, k*250, (k+1)*250))
	}
	catalog := openCatalog(t, dataDir)
	for name, terms := range partitionings {
		t.Run(name, func(t *testing.T) {
			table := "types_" + name
			client.Query(strings.Replace(fmt.Sprintf(everyType, terms), "TABLE types", "TABLE "+table, 1))
			client.Query("INSERT INTO " + table + " SELECT * FROM source")
			loaded, err := catalog.LoadTable(context.Background(), "w", table)
			require.NoError(t, err)

			columns := "id, b, i, l, f, d, dec, big, dt, tm, ts, s, u, bin, li, st, mp, epoch_us(tz) AS tz"
			got := client.Query("SELECT " + columns + " FROM " + table)
			require.Len(t, got.Rows, 1000)
			db := reference.Open(t, catalog, "w", 2)
			want := db.Query(fmt.Sprintf("SELECT "+columns+" FROM (%s) t(id, b, i, l, f, d, dec, big, dt, tm, ts, tz, s, u, bin, li, st, mp)", fmt.Sprintf(everyTypeRows, 0, 1000)))
			require.Empty(t, compare.Diff(want, got), "Serac reads what was written")
			inFiles := db.Query("SELECT " + columns + " FROM " + table)
			require.Empty(t, compare.Diff(want, inFiles), "DuckDB reads the same from the files")

			// iceberg-go prunes by the bounds that Serac wrote: a filter must find every row that it finds without.
			for _, c := range []struct {
				filter ice.BooleanExpression
				rows   int64
			}{
				{ice.AlwaysTrue{}, 1000},
				{ice.EqualTo(ice.Reference("id"), int64(777)), 1},
				{ice.IsNull(ice.Reference("s")), 77},
				{ice.LessThan(ice.Reference("ts"), "1970-01-01T00:00:00"), 309},
			} {
				_, records, err := loaded.Iceberg().Scan(icetable.WithRowFilter(c.filter)).ToArrowRecords(context.Background())
				require.NoError(t, err)
				n := int64(0)
				for r, err := range records {
					require.NoError(t, err)
					n += r.NumRows()
					r.Release()
				}
				require.Equal(t, c.rows, n, "iceberg-go: %s", c.filter)
			}
			for _, filter := range boundFilters {
				require.Equal(t, db.Query("SELECT count(*) FROM "+table+" WHERE "+filter).Rows,
					client.Query("SELECT count(*) FROM "+table+" WHERE "+filter).Rows, filter)
			}
		})
	}
	t.Run("PyIceberg", func(t *testing.T) { readWithPyIceberg(t, dataDir) })
	cluster.Stop()
}

// boundFilters touch the bounds of every type.
var boundFilters = []string{
	"id = 999", "i = 0", "i IS NULL", "l < -499000003000", "f > 124", "isnan(f)", "d < 0", "dec = -31.25", "dec >= 31", "big < -1234567",
	"dt = DATE '1965-03-01'", "dt < DATE '1970-01-01'", "ts < TIMESTAMP '1970-01-01'", "ts >= TIMESTAMP '1970-01-03'",
	"s = ''", "s = 'näme 36'", "s IS NULL", "s LIKE 'näme 1%'", "s > 'näme 9'", "bin = 'b2'::BLOB", "b IS NULL", "b",
	"tm > TIME '16:00:00'", "tz < TIMESTAMPTZ '1970-01-01 00:00:00+00'", "u > 'f0000000-0000-0000-0000-000000000000'",
}

// readWithPyIceberg compares the row count and the sum of every table with another reader's, when it is there.
func readWithPyIceberg(t *testing.T, dataDir string) {
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import pyiceberg, sqlalchemy, pyarrow").Run()
	}
	if err != nil {
		t.Skip("Python with PyIceberg (pyiceberg[sql-sqlite,pyarrow]) is not installed")
	}
	script := fmt.Sprintf(`
from pyiceberg.catalog.sql import SqlCatalog
c = SqlCatalog("serac", uri="sqlite:///%[1]s/catalog.db", warehouse="file://%[1]s/warehouse", init_catalog_tables="false")
for ident in sorted(i for i in c.list_tables("w") if i[1].startswith("types_")):
    t = c.load_table(ident)
    a = t.scan().to_arrow()
    print(ident[1], a.num_rows, sum(a["id"].to_pylist()), t.scan(row_filter="id = 777").to_arrow().num_rows, t.scan(row_filter="ts < '1970-01-01T00:00:00'").to_arrow().num_rows)
`, dataDir)
	out, err := exec.Command(python, "-c", script).CombinedOutput()
	require.NoError(t, err, string(out))
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	read := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "types_") {
			read++
			require.Contains(t, line, " 1000 499500 1 309", "PyIceberg: rows, sum of ids, rows of two filters")
		}
	}
	require.Equal(t, len(partitionings), read, string(out))
}

// TestWritesThatFailLeaveNothing: no snapshot, no rows, no files.
func TestWritesThatFailLeaveNothing(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA f")
	client.Query("USE f")
	client.Query("SET distribution_threshold = '0B'")
	client.Query("SET target_task_size = '1KB'")
	client.Query("CREATE TABLE source AS SELECT i, CASE WHEN i = 777 THEN NULL ELSE 'v' || i END AS s FROM range(1000) r(i)")
	client.Query("INSERT INTO source SELECT i, 'v' || i FROM range(1000, 2000) r(i)")
	client.Query("CREATE TABLE required (i BIGINT NOT NULL, s VARCHAR NOT NULL)")
	client.Query("CREATE TABLE required_parts (i BIGINT NOT NULL, s VARCHAR NOT NULL) PARTITIONED BY (bucket(4, i))")
	client.Query("CREATE TABLE nested (i BIGINT, st STRUCT(a BIGINT NOT NULL, b VARCHAR), li LIST<INT NOT NULL>)")
	before := dataFiles(t, dataDir)
	for _, c := range []struct{ sql, says string }{
		{"INSERT INTO required SELECT * FROM source", "s"},
		{"INSERT INTO required_parts SELECT * FROM source", "s"},
		{"INSERT INTO required (i) SELECT i FROM source", "s"},
		{"INSERT INTO nested SELECT i, {'a': NULL, 'b': s}, [1] FROM source", "st.a"},
		{"INSERT INTO nested SELECT i, {'a': 1, 'b': s}, [1, NULL] FROM source", "li"},
		{"INSERT INTO required SELECT i, error('no ' || i) FROM source", "no "},
		{"INSERT INTO required SELECT s, s FROM source", "Conversion Error"},
		{"INSERT INTO required SELECT i FROM source", "2 columns"},
		{"CREATE TABLE made AS SELECT error('stop') AS x FROM source", "stop"},
	} {
		_, err := client.Run(context.Background(), c.sql)
		require.ErrorContains(t, err, c.says, c.sql)
	}
	require.Equal(t, before, dataFiles(t, dataDir), "files of failed statements are removed")
	for _, table := range []string{"required", "required_parts", "nested"} {
		require.Equal(t, "0", client.Value("SELECT count(*) FROM "+table))
	}
	require.NotContains(t, fmt.Sprint(client.Query("SHOW TABLES").Rows), "made")
	// A column that may be NULL takes from one that may not, and the other way round when no NULL comes.
	client.Query("INSERT INTO required SELECT i, s FROM source WHERE s IS NOT NULL")
	require.Equal(t, "1999", client.Value("SELECT count(*) FROM required"))
	client.Query("INSERT INTO source SELECT * FROM required")
	require.Equal(t, "3999", client.Value("SELECT count(*) FROM source"))
	cluster.Stop()
}

// dataFiles are the Parquet files below a directory.
func dataFiles(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "warehouse"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".parquet") {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// TestDataSurvivesARestart: what was written is there after the process was stopped, and after it was killed.
func TestDataSurvivesARestart(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Serve(t, dataDir)
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA r")
	client.Query("CREATE TABLE r.t (i BIGINT)")
	client.Query("INSERT INTO r.t VALUES (1), (2)")
	cluster.Stop()

	cluster = process.Serve(t, dataDir)
	client = cluster.Connect(t)
	require.Equal(t, "3", client.Value("SELECT sum(i)::BIGINT FROM r.t"))
	client.Query("INSERT INTO r.t VALUES (10)")
	cluster.Server.Kill()

	cluster = process.Serve(t, dataDir)
	client = cluster.Connect(t)
	require.Equal(t, "13", client.Value("SELECT sum(i)::BIGINT FROM r.t"))
	cluster.Stop()
}

// TestTheCommitIsKeyed: the snapshot's summary names the statement's commit.
func TestTheCommitIsKeyed(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Serve(t, dataDir)
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA k")
	client.Query("CREATE TABLE k.t (i BIGINT)")
	client.Query("INSERT INTO k.t VALUES (1)")
	table, err := openCatalog(t, dataDir).LoadTable(context.Background(), "k", "t")
	require.NoError(t, err)
	require.NotEmpty(t, table.Iceberg().CurrentSnapshot().Summary.Properties["serac.commit-id"])
	cluster.Stop()
}
