package commit_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/wire"
)

// A warehouse on S3: create, write, commit, plan, delete files, purge, and all of it with the configured storage alone.
func TestObjectStorage(t *testing.T) {
	ctx := context.Background()
	backend := s3mem.New()
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	require.NoError(t, backend.CreateBucket("lake"))
	c, err := catalog.Open(ctx, catalog.Config{
		Name: "c", Type: catalog.TypeSQLite, URI: filepath.Join(t.TempDir(), "c.db"), Warehouse: "s3://lake/warehouse",
		FileIO: wire.NewFileIO(map[string]string{
			"s3.endpoint": server.URL, "s3.region": "us-east-1", "s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.force-virtual-addressing": "false",
		}),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	require.NoError(t, c.CreateNamespace(ctx, "ns", false))
	tbl := createTable(t, c, "t", []iceberg.PartitionTerm{{Column: "s", Transform: "identity"}}, nil)
	require.True(t, strings.HasPrefix(tbl.Location(), "s3://lake/warehouse/"), tbl.Location())
	files := icetest.Write(t, icetest.DuckDB(t), tbl, "SELECT i, ['', 'x'][1 + i % 2] FROM range(10) r(i)")
	_, err = commit.Append(ctx, c, tbl, commit.Request{CommitID: "1", Files: files, Operation: commit.OpAppend})
	require.NoError(t, err)
	tbl = reload(t, c, tbl)
	planned, err := scan.Plan(ctx, tbl, tbl.SnapshotID(), tbl.Columns(), nil)
	require.NoError(t, err)
	require.EqualValues(t, 10, planned.Rows)
	require.Len(t, ids(t, tbl), 10)
	require.Equal(t, 5, tbl.Wire().FileIO.Len())

	fs, err := tbl.FS(ctx)
	require.NoError(t, err)
	extra := icetest.Write(t, icetest.DuckDB(t), tbl, "SELECT 1::BIGINT, 'y'")
	require.NoError(t, commit.DeleteFiles(ctx, fs, []string{extra[0].Path, extra[0].Path}))
	_, err = fs.Open(extra[0].Path)
	require.Error(t, err)

	require.NoError(t, c.DropTable(ctx, "ns", "t", true))
	objects, err := backend.ListBucket("lake", nil, gofakes3.ListBucketPage{})
	require.NoError(t, err)
	var left []string
	for _, o := range objects.Contents {
		left = append(left, o.Key)
	}
	require.Empty(t, left, fmt.Sprint(left))
}
