package secrets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

const mark = "m4rked-secret"

func schema(t *testing.T) *ice.Schema {
	t.Helper()
	s, err := iceberg.NewSchema([]iceberg.ColumnDef{{Name: "id", Type: plan.T(plan.BigInt)}})
	require.NoError(t, err)
	return s
}

// marked has a value of each type that may hold a credential, with the mark in every place for one; and of some that hold
// such types.
func marked(t *testing.T) map[string]any {
	t.Helper()
	fileIO := wire.NewFileIO(map[string]string{
		"s3.secret-access-key": mark, "s3.session-token": mark, "s3.region": mark, "gcs.json-key": mark, "adls.sas-token": mark, "client.region": mark,
	})
	table := &wire.Table{Key: "t", Identifier: []string{"c", "ns", "t"}, MetadataLocation: "file:///t/v1.json", FormatVersion: 2, FileIO: fileIO}
	fragment, err := codec.EncodeFragment(&plan.IcebergScan{TableKey: "t"}, []*wire.Table{table})
	require.NoError(t, err)
	decoded, err := codec.DecodeFragment(fragment)
	require.NoError(t, err)

	settings, err := config.Load(config.Source{Set: map[string]string{
		"catalog.type": "rest", "catalog.uri": "http://127.0.0.1:1", "catalog.credential": "id:" + mark,
		"cluster.secret": mark, "storage.s3_access_key": mark, "storage.s3_secret_key": mark, "storage.s3_region": "eu",
	}})
	require.NoError(t, err)
	catalogConfig := catalog.Config{
		Name: "c", Type: catalog.TypeSQLite, URI: filepath.Join(t.TempDir(), "c.db"), Warehouse: t.TempDir(), FileIO: fileIO,
		Properties: map[string]wire.Secret{"token": wire.NewSecret(mark)},
	}
	opened, err := catalog.Open(t.Context(), catalogConfig)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	require.NoError(t, opened.CreateNamespace(t.Context(), "ns", true))
	created, err := opened.CreateTable(t.Context(), catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: schema(t)})
	require.NoError(t, err)
	require.NotZero(t, created.Wire().FileIO.Len(), "the handle holds the mark")

	return map[string]any{
		"config.Catalog": settings.Catalog, "config.Cluster": settings.Cluster, "config.Config": settings, "config.Storage": settings.Storage,
		"config.Source":           config.Source{Environ: []string{"SERAC_STORAGE__S3_SECRET_KEY=" + mark, "AWS_SECRET=" + mark}, Set: map[string]string{"storage.s3_secret_key": mark}},
		"iceberg/catalog.Catalog": opened, "iceberg/catalog.Config": catalogConfig, "iceberg/catalog.Table": created,
		"proto/serac/v1.Table": table.Proto(), "proto/serac/v1.TaskLaunch": &seracv1.TaskLaunch{Fragment: fragment},
		"wire.FileIO": fileIO, "wire.Table": table, "wire.Secret": wire.NewSecret(mark), "codec.Fragment": decoded,
		"wire.Tables":                wire.NewTables(wire.TablesOptions{}),
		"config.FormatCatalog":       config.FormatCatalog{Type: "csv", Properties: map[string]config.Secret{"key": settings.Cluster.Secret}},
		"format.Config":              format.Config{Name: "c", Properties: map[string]wire.Secret{"key": wire.NewSecret(mark)}},
		"proto/serac/v1.Credentials": &seracv1.Credentials{Id: 1, FileIo: fileIO.Covered()},
		"wire.Sealer":                wire.NewSealer(wire.NewSecret(mark)),
	}
}

// harmless are the types that hold no credential, though the names of their fields could mean one.
var harmless = map[string]string{
	"codec/conformance.Case":        "what a test looks for",
	"iceberg/catalog.CreateRequest": "a table's properties stand in its metadata, for all who may read it",
	"iceberg/write.Table":           "a table's properties stand in its metadata, for all who may read it",
	"iceberg/commit.Request":        "the summary stands in the snapshot, for all who may read it",
	"internal/duckdb.Options":       "credentials never enter DuckDB",
	"scheduler/bind.Request":        "a session's settings of DuckDB, which credentials never enter",
	"scheduler/job.Stage":           "a session's settings of DuckDB, which credentials never enter",
	"scheduler/sql.CreateSchema":    "the statement's own text",
	"scheduler/sql.TableOptions":    "the statement's own text",
	"proto/serac/v1.Storage":        "it stands below a cover alone (TestStorageIsCovered)",
}

func TestNoTypeIsForgotten(t *testing.T) {
	known := slices.Collect(maps.Keys(marked(t)))
	found, err := TypesThatMayHold("../..")
	require.NoError(t, err)
	require.Greater(t, len(found), 15)
	for _, name := range found {
		if harmless[name] == "" {
			assert.Contains(t, known, name, "it may hold a credential: give it a marked value, or the reason why it holds none")
		}
	}
	for name := range harmless {
		require.Contains(t, found, name, "it is there no more, or holds nothing")
	}
}

func TestNoSecretPrints(t *testing.T) {
	for name, v := range marked(t) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			require.NotContains(t, fmt.Sprintf(verb, v), mark, "%s by %s", name, verb)
			require.NotContains(t, fmt.Sprintf(verb, []any{v}), mark, "%s in a list by %s", name, verb)
			if name == "config.Source" { // where the configuration comes from, as text: it can hide itself, no more
				continue
			}
			require.NotContains(t, fmt.Sprintf(verb, struct{ inner any }{v}), mark, "%s in an unexported field by %s", name, verb)
		}
		if b, err := json.Marshal(v); err == nil {
			require.NotContains(t, string(b), mark, "%s as JSON", name)
		}
		var log bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(handler).With("with", v).WithGroup("g").Error("message", "v", v, "err", fmt.Errorf("with %v", v))
		}
		require.NotContains(t, log.String(), mark, "%s in a log", name)
		require.NotContains(t, errors.Join(fmt.Errorf("%+v", v), errors.New("x")).Error(), mark, "%s in an error", name)
		require.NotContains(t, wire.FailureFrom(fmt.Errorf("%v", v)).String(), mark, "%s in a failure", name)
	}
	all := marked(t)
	for _, name := range []string{"wire.FileIO", "wire.Table", "config.Storage", "config.Source"} {
		require.Contains(t, fmt.Sprintf("%+v", all[name]), "<redacted>", name)
	}
	require.Contains(t, fmt.Sprint(all["wire.FileIO"]), "s3.session-token:<redacted>", "the names show")
}

const panicking = "SERAC_SECRETS_PANIC"

// TestNoSecretInAPanic ends processes by panics of marked values and looks at what they leave.
func TestNoSecretInAPanic(t *testing.T) {
	values := marked(t)
	if name := os.Getenv(panicking); name != "" {
		panic(values[name])
	}
	for _, name := range []string{"wire.FileIO", "wire.Secret", "wire.Table", "config.Config"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNoSecretInAPanic$")
		cmd.Env = append(os.Environ(), panicking+"="+name)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "panic")
		require.NotContains(t, string(out), mark, name)
	}
}

// The message Storage prints what is in it, as every generated one does: it is made and read in one place, under a cover.
func TestStorageIsCovered(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), "seracv1.Storage") {
			require.Equal(t, filepath.Join("..", "..", "wire", "cover.go"), path)
		}
		return err
	})
	require.NoError(t, err)
}
