package write

import (
	"context"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	icebergio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg/internal/icetest"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

func TestMoveToAnObjectStore(t *testing.T) {
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("wh"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	storage, err := icebergio.LoadFS(context.Background(), map[string]string{
		"s3.endpoint": server.URL, "s3.region": "us-east-1", "s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.force-virtual-addressing": "false",
	}, "s3://wh")
	require.NoError(t, err)
	conn, c := openConn(t), icetest.SQLite(t)
	columns := []column{{"id", "INTEGER", true}, {"s", "VARCHAR", false}}
	for _, layout := range []map[string]string{{"write.data.path": "s3://wh/t/files/"}, {"write.data.path": "s3://wh/t/data", "write.object-storage.enabled": "true"}} {
		tbl := newTable(t, c, "t"+layout["write.object-storage.enabled"], columns, []string{"bucket(2, id)"}, layout)
		w := newWriter(t, tbl)
		local := copyRows(t, conn, w, "SELECT i::INTEGER c0, 'x' c1 FROM range(100) r(i)")
		require.Len(t, local, 2)
		contents := map[int64][]byte{}
		for _, f := range local {
			content, err := os.ReadFile(f.Path)
			require.NoError(t, err)
			contents[f.SizeBytes] = content
		}
		moved, err := w.Move(context.Background(), storage, local)
		require.NoError(t, err)
		var locations []string
		for i, f := range moved {
			require.True(t, strings.HasPrefix(f.Path, strings.TrimSuffix(layout["write.data.path"], "/")+"/"), f.Path)
			require.Contains(t, f.Path, "/id_bucket_2=")
			require.Equal(t, local[i].RecordCount, f.RecordCount)
			object, err := storage.Open(f.Path)
			require.NoError(t, err)
			content, err := io.ReadAll(object)
			require.NoError(t, err)
			require.NoError(t, object.Close())
			require.Equal(t, contents[f.SizeBytes], content)
			_, err = os.Stat(local[i].Path)
			require.ErrorIs(t, err, os.ErrNotExist)
			locations = append(locations, f.Path)
		}
		require.NoError(t, Delete(context.Background(), storage, append(locations, "s3://wh/t/never-was")))
		for _, location := range locations {
			_, err := storage.Open(location)
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		server.CloseClientConnections()
	}
	// A store that does not answer is transport, and what a cancelled move leaves is deleted.
	w := newWriter(t, newTable(t, c, "gone", columns, nil, map[string]string{"write.data.path": "s3://nobucket/x"}))
	_, err = w.Move(context.Background(), storage, copyRows(t, conn, w, "SELECT 1::INTEGER c0, 'x' c1"))
	require.ErrorIs(t, err, wire.ErrTransport)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = w.Move(ctx, storage, []*seracv1.DataFile{{Path: "/nowhere"}})
	require.ErrorIs(t, err, context.Canceled)
}
