package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

// TestMetadataTablesAndTimeTravel reads metadata tables and older versions anywhere in a plan (rules 14 and 17), in
// parallel and whole, and holds the metadata against PyIceberg's.
func TestMetadataTablesAndTimeTravel(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA m")
	client.Query("USE m")
	client.Query("CREATE TABLE o (id BIGINT, d DATE, s VARCHAR, u UUID, x DOUBLE) PARTITIONED BY (d, bucket(2, id), u)")
	insert := "INSERT INTO o SELECT i, DATE '2024-01-01' + (i %% 3)::INT, 'v' || i, md5((i %% 2)::VARCHAR)::UUID, i / 2 FROM range(%d, %d) r(i)"
	client.Query(fmt.Sprintf(insert, 0, 10))
	client.Query(fmt.Sprintf(insert, 10, 30))
	client.Query("CREATE TABLE plain AS SELECT i FROM range(5) r(i)")
	client.Query("CREATE TABLE never (i INT)")
	first := client.Value(`SELECT snapshot_id FROM "o$snapshots" ORDER BY committed_at LIMIT 1`)
	firstTime := client.Value(`SELECT committed_at::VARCHAR FROM "o$snapshots" ORDER BY committed_at LIMIT 1`)
	for _, threshold := range []string{"0B", "1GB"} {
		client.Query("SET distribution_threshold = '" + threshold + "'")
		for _, c := range []struct{ sql, want string }{
			{`SELECT count(*) FROM "o$snapshots"`, "2"},
			{`SELECT count(*) FROM o.snapshots`, "2"},
			{`SELECT count(*) FROM m.o.snapshots`, "2"},
			{`SELECT count(*) FROM serac.m."o$history" WHERE is_current_ancestor`, "2"},
			{`SELECT string_agg(operation, ',') FROM o.snapshots WHERE parent_id IS NOT NULL`, "append"},
			{`SELECT summary['added-records'] FROM o.snapshots WHERE parent_id IS NULL`, "10"},
			{`SELECT sum(record_count)::BIGINT FROM o.files`, "30"},
			{`SELECT count(*) FROM o.files WHERE content <> 0`, "0"},
			{`SELECT count(DISTINCT partition)::BIGINT || '/' || max(partition.d) FROM "o$files"`, "12/2024-01-03"},
			{`SELECT count(*) FROM o.partitions`, "12"},
			{`SELECT sum(record_count)::BIGINT || '/' || sum(file_count)::BIGINT FROM o.partitions`, "30/" + client.Value("SELECT count(*) FROM o.data_files")},
			{`SELECT max(readable_metrics.id.upper_bound) - min(readable_metrics.id.lower_bound) FROM o.files`, "29"},
			{`SELECT sum(added_data_files_count)::BIGINT FROM o.manifests`, client.Value("SELECT count(*) FROM o.files")},
			{`SELECT count(*) FROM o.delete_files`, "0"},
			{`SELECT count(*) FROM o.entries WHERE status = 1 AND data_file.record_count > 0`, client.Value("SELECT count(*) FROM o.files")},
			{`SELECT type FROM o.refs WHERE name = 'main'`, "BRANCH"},
			{`SELECT count(*) FROM o.metadata_log_entries`, "3"},
			{`SELECT count(*) FROM plain.partitions WHERE record_count = 5`, "1"},
			{`SELECT count(*) FROM never.files`, "0"},
			{`SELECT count(*) FROM never.snapshots`, "0"},
			// Anywhere in a plan.
			{`SELECT count(*) FROM o JOIN o.snapshots s ON s.summary['added-records']::BIGINT = o.id`, "2"},
			{`SELECT count(*) FROM (SELECT snapshot_id FROM o.snapshots UNION ALL SELECT id FROM o UNION ALL SELECT snapshot_id FROM o.snapshots)`, "34"},
			{`WITH f AS (SELECT * FROM o.files) SELECT (SELECT count(*) FROM f) = (SELECT count(*) FROM f WHERE file_path LIKE '%.parquet')`, "true"},
			{`SELECT count(*) FROM o WHERE id = (SELECT count(*) FROM o.snapshots)`, "1"},
			{`SELECT count(*) FROM o.files f JOIN o.files g USING (file_path) WHERE f.record_count = g.record_count`, client.Value("SELECT count(*) FROM o.files")},
			{`SELECT snapshots.operation FROM o.snapshots WHERE snapshots.parent_id IS NULL`, "append"},
			// Older versions.
			{`SELECT count(*) FROM o AT (VERSION => ` + first + `)`, "10"},
			{`SELECT count(*) FROM o AT (TIMESTAMP => TIMESTAMPTZ '` + firstTime + `')`, "10"},
			{`SELECT count(*) FROM o AT (VERSION => 'main')`, "30"},
			{`SELECT count(*) FROM o AT (TIMESTAMP => now() + INTERVAL 1 DAY)`, "30"},
			{`SELECT count(*) FROM o a JOIN o b AT (VERSION => ` + first + `) USING (id)`, "10"},
			{`SELECT sum(record_count)::BIGINT FROM "o$files" AT (VERSION => ` + first + `)`, "10"},
		} {
			require.Equal(t, c.want, client.Value(c.sql), "%s: %s", threshold, c.sql)
		}
		for sql, says := range map[string]string{
			`SELECT * FROM o AT (VERSION => 5)`:                                        "there is no snapshot 5",
			`SELECT * FROM o AT (VERSION => 'nope')`:                                   "there are: main (branch)",
			`SELECT * FROM o AT (TIMESTAMP => TIMESTAMP '2000-01-01')`:                 "the first is of ",
			`SELECT * FROM "o$snapshots" AT (VERSION => 5)`:                            "of the table as a whole",
			`SELECT * FROM o AT (VERSION => NULL)`:                                     "names no version",
			`SELECT * FROM o AT (VERSION => 1.5)`:                                      "DECIMAL",
			`SELECT * FROM o AT (VERSION => (SELECT max(snapshot_id) FROM o.history))`: "AT needs a constant",
			`SELECT * FROM "nope$files"`:                                               "nope$files does not exist",
			`SELECT * FROM o.nope`:                                                     "does not exist",
		} {
			_, err := client.Run(t.Context(), sql)
			require.ErrorContains(t, err, says, sql)
		}
	}
	// PyIceberg cannot show partitions by a UUID.
	client.Query("CREATE TABLE p (id BIGINT, d DATE, s VARCHAR, x DOUBLE) PARTITIONED BY (d, bucket(2, id))")
	client.Query("INSERT INTO p SELECT id, d, s, x FROM o WHERE id < 20")
	client.Query("INSERT INTO p SELECT id, d, s, x FROM o WHERE id >= 20")
	t.Run("PyIceberg", func(t *testing.T) { inspectWithPyIceberg(t, dataDir, client) })
}

// inspections are the same columns by SQL and by PyIceberg, as a text for each row.
var inspections = []struct{ sql, python string }{
	{`SELECT epoch_ms(committed_at) || '|' || snapshot_id || '|' || coalesce(parent_id, 0) || '|' || operation || '|' || manifest_list || '|' || summary['total-records'] FROM p.snapshots`,
		`[f"{ms(r['committed_at'])}|{r['snapshot_id']}|{r['parent_id'] or 0}|{r['operation']}|{r['manifest_list']}|{dict(r['summary'])['total-records']}" for r in i.snapshots().to_pylist()]`},
	{`SELECT epoch_ms(made_current_at) || '|' || snapshot_id || '|' || coalesce(parent_id, 0) || '|' || is_current_ancestor FROM p.history`,
		`[f"{ms(r['made_current_at'])}|{r['snapshot_id']}|{r['parent_id'] or 0}|{str(r['is_current_ancestor']).lower()}" for r in i.history().to_pylist()]`},
	{`SELECT name || '|' || type || '|' || snapshot_id FROM p.refs`,
		`[f"{r['name']}|{r['type']}|{r['snapshot_id']}" for r in i.refs().to_pylist()]`},
	{`SELECT content || '|' || file_path || '|' || file_format || '|' || spec_id || '|' || record_count || '|' || file_size_in_bytes || '|' || partition.d || '|' || partition.id_bucket_2 || '|' || value_counts[1] || '|' || null_value_counts[3] || '|' || hex(lower_bounds[1]) || '|' || hex(upper_bounds[3]) || '|' || readable_metrics.id.lower_bound || '|' || readable_metrics.s.upper_bound FROM p.files`,
		`[f"{r['content']}|{r['file_path']}|{r['file_format']}|{r['spec_id']}|{r['record_count']}|{r['file_size_in_bytes']}|{day(r['partition']['d'])}|{r['partition']['id_bucket_2']}|{dict(r['value_counts'])[1]}|{dict(r['null_value_counts'])[3]}|{dict(r['lower_bounds'])[1].hex().upper()}|{dict(r['upper_bounds'])[3].hex().upper()}|{r['readable_metrics']['id']['lower_bound']}|{r['readable_metrics']['s']['upper_bound']}" for r in i.files().to_pylist()]`},
	{`SELECT content || '|' || path || '|' || length || '|' || partition_spec_id || '|' || added_snapshot_id || '|' || added_data_files_count || '|' || existing_data_files_count || '|' || partition_summaries[1].lower_bound FROM p.manifests`,
		`[f"{r['content']}|{r['path']}|{r['length']}|{r['partition_spec_id']}|{r['added_snapshot_id']}|{r['added_data_files_count']}|{r['existing_data_files_count']}|{r['partition_summaries'][0]['lower_bound']}" for r in i.manifests().to_pylist()]`},
	{`SELECT epoch_ms(timestamp) || '|' || file || '|' || coalesce(latest_snapshot_id, 0) || '|' || coalesce(latest_schema_id, -1) || '|' || coalesce(latest_sequence_number, -1) FROM p.metadata_log_entries`,
		`[f"{ms(r['timestamp'])}|{r['file']}|{r['latest_snapshot_id'] or 0}|{-1 if r['latest_schema_id'] is None else r['latest_schema_id']}|{-1 if r['latest_sequence_number'] is None else r['latest_sequence_number']}" for r in i.metadata_log_entries().to_pylist()]`},
	{`SELECT partition.d || '|' || partition.id_bucket_2 || '|' || spec_id || '|' || record_count || '|' || file_count || '|' || total_data_file_size_in_bytes || '|' || position_delete_file_count || '|' || epoch_ms(last_updated_at) || '|' || last_updated_snapshot_id FROM p.partitions`,
		`[f"{day(r['partition']['d'])}|{r['partition']['id_bucket_2']}|{r['spec_id']}|{r['record_count']}|{r['file_count']}|{r['total_data_file_size_in_bytes']}|{r['position_delete_file_count']}|{ms(r['last_updated_at'])}|{r['last_updated_snapshot_id']}" for r in i.partitions().to_pylist()]`},
}

// inspectWithPyIceberg compares metadata tables with another reader's, when it is there.
func inspectWithPyIceberg(t *testing.T, dataDir string, client *process.Client) {
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import pyiceberg, sqlalchemy, pyarrow").Run()
	}
	if err != nil {
		t.Skip("Python with PyIceberg (pyiceberg[sql-sqlite,pyarrow]) is not installed")
	}
	for _, c := range inspections {
		script := fmt.Sprintf(`
import datetime
from pyiceberg.catalog.sql import SqlCatalog
c = SqlCatalog("serac", uri="sqlite:///%[1]s/catalog.db", warehouse="file://%[1]s/warehouse", init_catalog_tables="false")
ms = lambda t: int(t.replace(tzinfo=datetime.timezone.utc).timestamp() * 1000 + 0.5)
day = lambda d: d if isinstance(d, datetime.date) else datetime.date(1970, 1, 1) + datetime.timedelta(d)
i = c.load_table("m.p").inspect
print("\n".join(sorted(%[2]s)))
`, dataDir, c.python)
		out, err := exec.Command(python, "-c", script).CombinedOutput()
		require.NoError(t, err, string(out))
		got := client.Value("SELECT string_agg(r, chr(10) ORDER BY r) FROM (" + c.sql + ") t(r)")
		require.NotEmpty(t, got)
		require.Equal(t, lastLines(string(out), strings.Count(got, "\n")+1), got, c.sql)
	}
}

// lastLines are the last n lines of a text: warnings come before them.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// TestDescribeMetadataTables: each has the columns that a query of it has, as DuckDB describes that query.
func TestDescribeMetadataTables(t *testing.T) {
	cluster := process.Serve(t, t.TempDir())
	c := cluster.Connect(t)
	c.Query("CREATE SCHEMA m")
	c.Query("USE m")
	c.Query("CREATE TABLE o (id BIGINT, d DATE, st STRUCT(a INT)) PARTITIONED BY (d, bucket(2, id))")
	c.Query("CREATE TABLE never (i INT)")
	columns := func(sql string) (out []string) {
		for _, row := range c.Query(sql).Rows {
			out = append(out, row[0].String()+" "+strings.NewReplacer(`"`, "").Replace(row[1].String()))
		}
		require.NotEmpty(t, out, sql)
		return out
	}
	for _, table := range []string{"o", "never"} {
		for _, kind := range []string{
			"snapshots", "history", "refs", "files", "data_files", "delete_files", "entries", "manifests", "partitions", "metadata_log_entries",
		} {
			want := columns("DESCRIBE SELECT * FROM " + table + "." + kind)
			for _, describe := range []string{"DESCRIBE %s.%s", `DESCRIBE "%s$%s"`, `DESC serac.m."%s$%s"`, "SHOW COLUMNS FROM m.%s.%s", `SHOW "%s$%s"`} {
				require.Equal(t, want, columns(fmt.Sprintf(describe, table, kind)), describe)
			}
		}
	}
	require.Equal(t, "snapshot_id|BIGINT|NO|NULL|NULL", rowText(c, "DESCRIBE o.snapshots", "snapshot_id"))
	require.Equal(t, []string{"id BIGINT", "d DATE", "st STRUCT(a INTEGER)"}, columns("DESCRIBE o"))
	// A table of the very name comes first.
	c.Query("CREATE SCHEMA o")
	c.Query("CREATE TABLE o.files (mine INT)")
	require.Equal(t, []string{"mine INTEGER"}, columns("DESCRIBE o.files"))
	for _, sql := range []string{`DESCRIBE "gone$files"`, "DESCRIBE gone.files", `DESCRIBE "o$nope"`, "SHOW COLUMNS FROM o.nope", "DESCRIBE other.o.files"} {
		_, err := c.Run(t.Context(), sql)
		require.ErrorContains(t, err, "does not exist", sql)
	}
	cluster.Stop()
}

// rowText is the row of a result whose first cell is as given.
func rowText(c *process.Client, sql, first string) string {
	for _, row := range c.Query(sql).Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = cell.String()
		}
		if cells[0] == first {
			return strings.Join(cells, "|")
		}
	}
	return ""
}
