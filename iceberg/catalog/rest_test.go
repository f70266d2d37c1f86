package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/wire"
)

// restServer serves one table, ns.t, whose metadata and properties it hands out with each load.
func restServer(t *testing.T, location string, config map[string]string) *httptest.Server {
	t.Helper()
	c := icetest.SQLite(t)
	tbl, err := c.CreateTable(context.Background(), catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: schema(t)})
	require.NoError(t, err)
	metadata, err := json.Marshal(tbl.Iceberg().Metadata())
	require.NoError(t, err)
	answer := func(w http.ResponseWriter, status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := strings.TrimPrefix(r.URL.Path, "/v1"); {
		case path == "/config":
			answer(w, 200, map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}})
		case r.Header.Get("Authorization") != "Bearer catalog-token":
			answer(w, 401, map[string]any{"error": map[string]any{"message": "who are you", "type": "NotAuthorizedException", "code": 401}})
		case path == "/namespaces/ns/tables/t":
			answer(w, 200, map[string]any{"metadata-location": location, "metadata": json.RawMessage(metadata), "config": config})
		case path == "/namespaces" && r.URL.Query().Get("parent") == "":
			answer(w, 200, map[string]any{"namespaces": [][]string{{"ns"}}})
		case path == "/namespaces":
			answer(w, 404, map[string]any{"error": map[string]any{"message": "no nested namespaces", "type": "NoSuchNamespaceException", "code": 404}})
		default:
			answer(w, 404, map[string]any{"error": map[string]any{"message": "not found: " + path, "type": "NoSuchTableException", "code": 404}})
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// Storage properties that the server vends with a table reach executors, over the configured ones; its other properties
// and the catalog's own credential do not.
func TestRESTVendsStorageProperties(t *testing.T) {
	ctx := context.Background()
	server := restServer(t, "s3://bucket/t/metadata/1.metadata.json", map[string]string{
		"s3.access-key-id": "vended", "s3.secret-access-key": "hunter2", "token": "table-token", "header.X": "y",
	})
	c, err := catalog.Open(ctx, catalog.Config{
		Name: "c", Type: catalog.TypeREST, URI: server.URL,
		FileIO:     wire.NewFileIO(map[string]string{"s3.endpoint": "http://127.0.0.1:1", "s3.access-key-id": "configured", "client.region": "eu"}),
		Properties: map[string]wire.Secret{"token": wire.NewSecret("catalog-token")},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	names, err := c.Namespaces(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"ns"}, names)

	tbl, err := c.LoadTable(ctx, "ns", "t")
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"s3.endpoint": "http://127.0.0.1:1", "s3.access-key-id": "vended", "s3.secret-access-key": "hunter2", "client.region": "eu",
	}, tbl.Wire().FileIO.Reveal())
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", tbl.Wire(), *tbl.Wire(), *tbl.Wire()), "hunter2")
	_, err = tbl.FS(ctx) // the storage still opens for those who do not look
	require.NoError(t, err)

	_, err = c.LoadTable(ctx, "ns", "nope")
	require.ErrorIs(t, err, catalog.ErrNoTable)
	require.EqualError(t, err, "table c.ns.nope does not exist")
}

func TestRESTWithoutCredential(t *testing.T) {
	server := restServer(t, "/tmp/t/metadata/1.metadata.json", nil)
	c, err := catalog.Open(context.Background(), catalog.Config{Name: "c", Type: catalog.TypeREST, URI: server.URL})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	_, err = c.LoadTable(context.Background(), "ns", "t")
	require.ErrorContains(t, err, "load table c.ns.t")
}
