package e2e

import (
	"database/sql"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/wire"
)

const manySnapshots = 20_000

// TestSelfJoinOfATableWithManySnapshots joins a table with itself whose metadata have 20,000 snapshots, about 10 MB: they
// do not travel with the plan, and the statement's messages stay far below 1 MiB (rule 4).
func TestSelfJoinOfATableWithManySnapshots(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA m")
	client.Query("CREATE TABLE m.t AS SELECT i AS id, i % 7 AS k FROM range(1000) r(i)")
	size := addSnapshots(t, dataDir, "m", "t", manySnapshots)
	require.Greater(t, size, 5<<20)
	require.Equal(t, "20000", client.Value("SELECT count(*) FROM m.t.snapshots"))
	for _, threshold := range []string{"0B", "1GB"} {
		client.Query("SET distribution_threshold = '" + threshold + "'")
		require.Equal(t, "1000/499500", client.Value("SELECT count(*) || '/' || sum(a.id)::BIGINT FROM m.t a JOIN m.t b ON a.id = b.id"))
		require.Equal(t, "142858", client.Value("SELECT count(*) FROM m.t a JOIN m.t b ON a.k = b.k"))
	}

	table, err := openCatalog(t, dataDir).LoadTable(t.Context(), "m", "t")
	require.NoError(t, err)
	require.Len(t, table.Iceberg().Metadata().Snapshots(), manySnapshots)
	travels := table.Wire()
	require.Empty(t, travels.Metadata)
	scan := func(leaf plan.LeafID) plan.Node {
		return &plan.IcebergScan{Leaf: leaf, TableKey: travels.Key, SnapshotID: table.SnapshotID(), Columns: table.Columns()}
	}
	key := func() plan.Expr { return &plan.ColumnRef{Of: table.Columns()[0].Type} }
	fragment, err := codec.EncodeFragment(&plan.Join{
		Kind: plan.Inner, Left: scan(1), Right: scan(2), Conds: []plan.JoinCond{{Op: plan.Equal, Left: key(), Right: key()}},
	}, []*wire.Table{travels})
	require.NoError(t, err)
	require.Less(t, len(fragment), 4<<10, "the limit is 1 MiB")
	cluster.Stop()
}

// addSnapshots puts older snapshots before the one that a table has, in a new metadata file of which it gives the size.
func addSnapshots(t *testing.T, dataDir, schema, name string, count int) int {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dataDir, "catalog.db")+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var location string
	require.NoError(t, db.QueryRow("SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?", schema, name).Scan(&location))
	b, err := os.ReadFile(strings.TrimPrefix(location, "file://"))
	require.NoError(t, err)
	metadata := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(string(b)))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&metadata))
	snapshots := metadata["snapshots"].([]any)
	require.Len(t, snapshots, 1)
	last := snapshots[0].(map[string]any)
	var all []any
	for i := range count - 1 {
		older := maps.Clone(last)
		older["snapshot-id"] = i + 1
		all = append(all, older)
	}
	metadata["snapshots"] = append(all, last)
	b, err = json.Marshal(metadata)
	require.NoError(t, err)
	grown := filepath.Join(filepath.Dir(strings.TrimPrefix(location, "file://")), "00009-0f3c5c1e-9f1e-4c8e-8c9e-000000000000.metadata.json")
	require.NoError(t, os.WriteFile(grown, b, 0o600))
	if strings.HasPrefix(location, "file://") {
		grown = "file://" + grown
	}
	_, err = db.Exec("UPDATE iceberg_tables SET metadata_location = ? WHERE table_namespace = ? AND table_name = ?", grown, schema, name)
	require.NoError(t, err)
	return len(b)
}
