package fuzz

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/server"
	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
)

func TestMain(m *testing.M) {
	status := m.Run()
	process.RemoveBinary()
	os.Exit(status)
}

// system is two executors with the tables as Iceberg tables, and DuckDB on their files.
type system struct {
	client *process.Client
	db     *reference.DB
}

func newSystem(t *testing.T) *system {
	t.Helper()
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA fuzz")
	client.Query("USE fuzz")
	client.Query("SET TimeZone = 'UTC'")
	for _, table := range tables {
		create := table.createSQL(table.name)
		if table.partition != "" {
			create += " PARTITIONED BY (" + table.partition + ")"
		}
		if table.deletes != "" {
			create += " TBLPROPERTIES ('format-version' = '" + map[bool]string{true: "3", false: "2"}[table.deletes == byVector] + "', 'write.delete.mode' = 'merge-on-read')"
		}
		client.Query(create)
		for file := range table.files {
			if table.rows == 0 {
				continue
			}
			rows := table.rowsSQL(file, table.files)
			if table.deletes != "" {
				rows = table.olderSQL(file, table.files)
			}
			client.Query("INSERT INTO " + table.name + " " + rows)
		}
	}
	catalog, err := server.OpenCatalog(context.Background(), config.Default(), dataDir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = catalog.Close() })
	db := reference.Open(t, catalog, "fuzz", 1)
	db.Exec("SET TimeZone = 'UTC'")
	for _, table := range tables {
		if table.deletes == "" {
			continue
		}
		deleteOlder(t, catalog, db, table)
		client.Query("INSERT INTO " + table.name + " " + table.selectSQL(rewritten))
		// No reader of ours says which rows remain: the generator knows.
		db.Exec("DROP VIEW " + table.name)
		db.Exec(table.createSQL(table.name))
		db.Exec("INSERT INTO " + table.name + " " + table.rowsSQL(0, 1))
	}
	return &system{client: client, db: db}
}

// set prepares the session for the query of a seed. One in four runs whole, as its text.
func (s *system) set(seed uint64) {
	for _, setting := range []string{
		fmt.Sprintf("distribution_threshold = '%s'", []string{"0B", "0B", "0B", "1TB"}[seed/7%4]), "target_task_size = '1KB'",
		fmt.Sprintf("shuffle_partitions = %d", []int{7, 1, 2}[seed%3]), fmt.Sprintf("max_partitions_per_task = %d", []int{0, 1}[seed%2]),
		fmt.Sprintf("broadcast_threshold = '%s'", []string{"0B", "1TB", "2KB"}[seed/3%3]), fmt.Sprintf("adaptive_broadcast = %t", seed%5 != 0),
		fmt.Sprintf("join_filters = %t", seed%4 != 0), fmt.Sprintf("key_ranges = %t", seed%7 < 4),
	} {
		s.client.Query("SET " + setting)
	}
}

// judge runs a query on the system.
func (s *system) judge(sql string) verdict {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := s.db.Prepare(ctx, sql); err != nil {
		return verdict{refused, err.Error()}
	}
	want, wantErr := s.db.Run(ctx, sql)
	if ctx.Err() != nil || wantErr == nil && len(want.Rows) > mostRows {
		return verdict{large, ""}
	}
	got, err := s.client.Run(context.Background(), sql)
	switch {
	case wantErr != nil && err != nil:
		return verdict{agreed, wantErr.Error()}
	case err != nil:
		return verdict{"the system fails", err.Error()}
	case wantErr != nil:
		return onlyDuckDBFails(wantErr, wantErr.Error(), func() verdict {
			s.db.Exec(takeAnyRow)
			defer s.db.Exec(takeOneRow)
			return s.judge(sql)
		})
	}
	diff := compare.Diff(want, got)
	if diff == "" && len(want.Rows) == 0 {
		return verdict{empty, ""}
	}
	if diff == "" {
		return verdict{equal, ""}
	}
	determined, err := s.db.Determined(context.Background(), sql)
	if err == nil && !determined {
		return verdict{unspecified, diff}
	}
	if err != nil {
		diff += "\n" + err.Error()
	}
	plain := func(sql string) (*compare.Result, error) { return s.db.Run(context.Background(), sql) }
	return differing(diff, got, plain, sql)
}

// Random queries through Flight SQL on two executors, over Iceberg tables, give DuckDB's answers.
func TestRandomQueriesOnProcesses(t *testing.T) {
	n := number(60, 2000)
	s := newSystem(t)
	count := tally{}
	failures := 0
	for i := 0; i < n && failures < *keep; i++ {
		at := *seed + uint64(i)
		s.set(at)
		tree := grow(at)
		sql := generate(tree)
		v := s.judge(sql)
		count[v.class]++
		v.tell(t, at, sql)
		if !v.failure() {
			continue
		}
		failures++
		small := shrink(tree, func(sql string) bool { return s.judge(sql).class == v.class }, 300)
		sql = generate(small.again())
		t.Errorf("seed %d: %s\n%s\n%s", at, v.class, sql, s.judge(sql).detail)
	}
	count.bounds(t)
}

// What random queries once found is right on processes too.
func TestFoundQueriesOnProcesses(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sql")
	require.NoError(t, err)
	s := newSystem(t)
	for i, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		s.set(uint64(i))
		v := s.judge(string(text))
		require.False(t, v.failure(), "%s: %s\n%s\n%s", file, v.class, text, v.detail)
	}
}
