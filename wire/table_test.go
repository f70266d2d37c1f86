package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// written is the metadata of a new table, in a file of its own.
func written(t *testing.T, properties iceberg.Properties) (table.Metadata, string) {
	t.Helper()
	dir := t.TempDir()
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true})
	m, err := table.NewMetadata(schema, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, dir, properties)
	require.NoError(t, err)
	b, err := json.Marshal(m)
	require.NoError(t, err)
	location := filepath.Join(dir, "v1.metadata.json")
	require.NoError(t, os.WriteFile(location, b, 0o600))
	return m, location
}

func live(m table.Metadata, location string) *table.Table {
	return table.New(table.Identifier{"ns", "t"}, m, location, icebergio.LoadFSFunc(nil, location), nil)
}

func TestRule4TableCrossesTheWire(t *testing.T) {
	m, location := written(t, nil)
	for _, inline := range []int{0, -1, 10} {
		w, err := NewTable("k", "cat", live(m, location), secretFileIO(), inline)
		require.NoError(t, err)
		require.Equal(t, inline == 0, w.Metadata != nil, "inline up to %d bytes", inline)
		w.ReadOnly = inline == 10
		b, err := proto.Marshal(w.Proto())
		require.NoError(t, err)
		p := &seracv1.Table{}
		require.NoError(t, proto.Unmarshal(b, p))
		got, err := TableFrom(p)
		require.NoError(t, err)
		require.Equal(t, w, got)
		require.Equal(t, []string{"cat", "ns", "t"}, got.Identifier)

		rebuilt, err := NewTables(TablesOptions{}).Rebuild(t.Context(), got)
		require.NoError(t, err)
		require.Equal(t, table.Identifier{"ns", "t"}, rebuilt.Identifier())
		require.True(t, rebuilt.Metadata().Equals(m))
		require.True(t, rebuilt.Schema().Equals(m.CurrentSchema()), "the schema is the plan's, without a catalog")
		require.ErrorIs(t, rebuilt.Refresh(t.Context()), ErrDetached)
		tx := rebuilt.NewTransaction()
		require.NoError(t, tx.SetProperties(iceberg.Properties{"a": "b"}))
		_, err = tx.Commit(t.Context())
		if w.ReadOnly {
			require.ErrorContains(t, err, "requires write access")
			continue
		}
		require.ErrorIs(t, err, ErrDetached)
	}
}

func TestTablesThatCannotBeRebuiltAreRefused(t *testing.T) {
	catalogs, err := proto.Marshal(&seracv1.Storage{Properties: map[string][]byte{"token": []byte("x")}})
	require.NoError(t, err)
	good := func() *seracv1.Table {
		return &seracv1.Table{Key: "k", Identifier: []string{"c", "t"}, MetadataLocation: "l", FormatVersion: 2, FileIo: cover(catalogs)}
	}
	got, err := TableFrom(good())
	require.NoError(t, err)
	require.Zero(t, got.FileIO.Len(), "a catalog's key does not arrive either")
	for _, spoil := range []func(*seracv1.Table){
		func(m *seracv1.Table) { m.Key = "" }, func(m *seracv1.Table) { m.Identifier = []string{"t"} },
		func(m *seracv1.Table) { m.MetadataLocation = "" }, func(m *seracv1.Table) { m.FormatVersion = 4 },
		func(m *seracv1.Table) { m.FormatVersion = 0 }, func(m *seracv1.Table) { m.FileIo = m.FileIo[1:] },
		func(m *seracv1.Table) { m.FileIo = m.FileIo[:len(m.FileIo)-1] }, func(m *seracv1.Table) { m.FileIo = []byte{1, 2} },
	} {
		m := good()
		spoil(m)
		_, err := TableFrom(m)
		require.Error(t, err)
	}

	m, location := written(t, nil)
	w, err := NewTable("k", "cat", live(m, location), FileIO{}, 0)
	require.NoError(t, err)
	w.FormatVersion = 3
	_, err = NewTables(TablesOptions{}).Rebuild(t.Context(), w)
	require.ErrorContains(t, err, "format version 2")

	m, location = written(t, iceberg.Properties{"encryption.key-id": "key-1"})
	w, err = NewTable("k", "cat", live(m, location), FileIO{}, 0)
	require.NoError(t, err)
	_, err = NewTables(TablesOptions{}).Rebuild(t.Context(), w)
	require.ErrorContains(t, err, "key service")
}

// countingFS counts the files opened, and refuses those whose credentials are not the right ones.
type countingFS struct {
	icebergio.LocalFS
	reads *atomic.Int64
	key   string
	wait  chan struct{}
}

var errDenied = errors.New("access denied")

func (c countingFS) ReadFile(name string) ([]byte, error) {
	c.reads.Add(1)
	if c.wait != nil {
		<-c.wait
	}
	if c.key == "wrong" {
		return nil, errDenied
	}
	return os.ReadFile(name)
}

func (c countingFS) Open(name string) (icebergio.File, error) {
	c.reads.Add(1)
	if c.key == "wrong" {
		return nil, errDenied
	}
	return c.LocalFS.Open(name)
}

// counted is a cache whose storage counts reads and opens.
func counted(wait chan struct{}) (tables *Tables, reads, opens *atomic.Int64) {
	reads, opens = &atomic.Int64{}, &atomic.Int64{}
	opener := NewOpener(0)
	opener.load = func(_ context.Context, properties map[string]string, _ string) (icebergio.IO, error) {
		opens.Add(1)
		return countingFS{reads: reads, key: properties["s3.secret-access-key"], wait: wait}, nil
	}
	return NewTables(TablesOptions{Opener: opener}), reads, opens
}

func keyed(t *testing.T, location, key string) *Table {
	m, err := table.NewFromLocation(t.Context(), table.Identifier{"t"}, location, icebergio.LoadFSFunc(nil, location), nil)
	require.NoError(t, err)
	return &Table{Key: "k", Identifier: []string{"c", "t"}, MetadataLocation: location, FormatVersion: m.Metadata().Version(),
		FileIO: NewFileIO(map[string]string{"s3.secret-access-key": key})}
}

func TestRule5MetadataIsReadOncePerLocation(t *testing.T) {
	_, location := written(t, nil)
	wait := make(chan struct{})
	tables, reads, opens := counted(wait)
	var group sync.WaitGroup
	for i := range 20 {
		group.Add(1)
		go func() {
			defer group.Done()
			// Rotated credentials: four keys for one table.
			_, err := tables.Rebuild(t.Context(), keyed(t, location, fmt.Sprintf("key-%d", i%4)))
			require.NoError(t, err)
		}()
	}
	close(wait)
	group.Wait()
	require.EqualValues(t, 1, reads.Load(), "one read however many ask, with whatever credentials")
	require.Equal(t, 1, tables.cache.Len())
	require.EqualValues(t, 1, opens.Load())
}

func TestRule5CredentialsAreBoundPerUse(t *testing.T) {
	_, location := written(t, nil)
	tables, reads, opens := counted(nil)
	right, err := tables.Rebuild(t.Context(), keyed(t, location, "right"))
	require.NoError(t, err)
	wrong, err := tables.Rebuild(t.Context(), keyed(t, location, "wrong"))
	require.NoError(t, err, "the metadata is known")
	require.EqualValues(t, 1, reads.Load())

	open := func(x *table.Table) error {
		fsys, err := x.FS(t.Context())
		require.NoError(t, err)
		f, err := fsys.Open(location)
		if err == nil {
			_ = f.Close()
		}
		return err
	}
	require.NoError(t, open(right))
	require.ErrorIs(t, open(wrong), errDenied, "one's key does not open another's files")
	require.NoError(t, open(right))
	require.EqualValues(t, 2, opens.Load(), "one storage for each configuration, however often it is asked for")
}

func TestRule5AnothersFailureIsNotOurs(t *testing.T) {
	_, location := written(t, nil)
	tables, _, _ := counted(nil)
	_, err := tables.Rebuild(t.Context(), keyed(t, location, "wrong"))
	require.ErrorIs(t, err, errDenied)
	_, err = tables.Rebuild(t.Context(), keyed(t, location, "right"))
	require.NoError(t, err, "a failure is not remembered")

	// Both at once: whoever comes second joins the first's flight.
	for range 50 {
		tables, _, _ := counted(nil)
		var group sync.WaitGroup
		group.Add(2)
		go func() {
			defer group.Done()
			_, err := tables.Rebuild(t.Context(), keyed(t, location, "wrong"))
			if err != nil {
				require.ErrorIs(t, err, errDenied)
			}
		}()
		go func() {
			defer group.Done()
			_, err := tables.Rebuild(t.Context(), keyed(t, location, "right"))
			require.NoError(t, err)
		}()
		group.Wait()
	}
}

// Metadata up to the threshold travels, a byte more does not: the plan's message stays small whatever the table's history.
func TestRule4InlineThreshold(t *testing.T) {
	m, location := written(t, nil)
	text, err := json.Marshal(m)
	require.NoError(t, err)
	for limit, travels := range map[int]bool{len(text): true, len(text) - 1: false, -1: false, 0: len(text) <= DefaultInlineMetadata} {
		w, err := NewTable("k", "cat", live(m, location), FileIO{}, limit)
		require.NoError(t, err)
		require.Equal(t, travels, w.Metadata != nil, "up to %d bytes", limit)
		if !travels {
			require.Less(t, proto.Size(w.Proto()), 1000)
		}
	}
	require.Equal(t, 64<<10, DefaultInlineMetadata)
}

func TestReadOnlyTablesAreNotWritten(t *testing.T) {
	_, location := written(t, nil)
	w := keyed(t, location, "")
	for _, readOnly := range []bool{false, true} {
		w.ReadOnly = readOnly
		rebuilt, err := NewTables(TablesOptions{}).Rebuild(t.Context(), w)
		require.NoError(t, err)
		fsys, err := rebuilt.FS(t.Context())
		require.NoError(t, err)
		_, writes := fsys.(icebergio.WriteFileIO)
		require.Equal(t, !readOnly, writes)
		f, err := fsys.Open(location)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		if readOnly {
			require.ErrorIs(t, fsys.Remove(location), ErrReadOnly)
			require.FileExists(t, location)
		}
	}
}

func TestRebuildHonoursTheCallersContext(t *testing.T) {
	_, location := written(t, nil)
	wait := make(chan struct{})
	tables, _, _ := counted(wait)
	w := keyed(t, location, "right")
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := tables.Rebuild(ctx, w)
		first <- err
	}()
	cancel()
	require.ErrorIs(t, <-first, context.Canceled, "while the read still hangs")
	close(wait)
	_, err := tables.Rebuild(t.Context(), w)
	require.NoError(t, err, "the next one is not cancelled with it")
}

func TestMissingMetadataIsAnErrorThatNamesIt(t *testing.T) {
	w := &Table{Key: "k", Identifier: []string{"c", "t"}, MetadataLocation: filepath.Join(t.TempDir(), "none.json"), FormatVersion: 2}
	_, err := NewTables(TablesOptions{}).Rebuild(t.Context(), w)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "none.json")
	w.Metadata = []byte("{")
	_, err = NewTables(TablesOptions{}).Rebuild(t.Context(), w)
	require.ErrorContains(t, err, "inline metadata")
}

func TestOpenerTellsBucketsApart(t *testing.T) {
	var opened []string
	opener := NewOpener(0)
	opener.load = func(_ context.Context, _ map[string]string, location string) (icebergio.IO, error) {
		opened = append(opened, location)
		return icebergio.LocalFS{}, nil
	}
	for _, location := range []string{"s3://a/x", "s3://a/y/z", "s3://b/x", "gs://a/x", "/tmp/x", "/var/y", "s3://a/x", "abfss://c@a/x", "abfss://d@a/x"} {
		_, err := opener.Open(t.Context(), FileIO{}, location)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"s3://a/x", "s3://b/x", "gs://a/x", "/tmp/x", "abfss://c@a/x", "abfss://d@a/x"}, opened)
}
