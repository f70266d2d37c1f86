package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// encoded is a message as bytes.
func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	return b
}

// inlineMetadata is a small table's metadata.
func inlineMetadata(t testing.TB) []byte {
	t.Helper()
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true})
	m, err := table.NewMetadata(schema, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "/t", nil)
	require.NoError(t, err)
	b, err := json.Marshal(m)
	require.NoError(t, err)
	return b
}

// hostile are metadata that a table may claim to have.
func hostile(t testing.TB) [][]byte {
	t.Helper()
	good := inlineMetadata(t)
	all := [][]byte{nil, good, good[:len(good)/2], []byte("null"), []byte("{}"), []byte("[]"), []byte(strings.Repeat("[", 1000))}
	for version := range 5 {
		all = append(all, fmt.Appendf(nil, `{"format-version":%d}`, version))
	}
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(good, &fields))
	for name, is := range fields {
		for _, other := range []string{"null", "-1", "[]", "[null]", "[{}]", "{}", `"x"`, "9223372036854775807"} {
			fields[name] = json.RawMessage(other)
			b, err := json.Marshal(fields)
			require.NoError(t, err)
			all = append(all, b)
		}
		delete(fields, name)
		b, err := json.Marshal(fields)
		require.NoError(t, err)
		all = append(all, b)
		fields[name] = is
	}
	return all
}

// FuzzTable reads tables as they arrive, and rebuilds those whose metadata came along; metadata, if any, takes the place of
// that in the message.
func FuzzTable(f *testing.F) {
	with := &Table{Key: "k", Identifier: []string{"c", "ns", "t"}, MetadataLocation: "/t/v1.json", FormatVersion: 2, FileIO: secretFileIO(), Metadata: inlineMetadata(f)}
	for _, metadata := range hostile(f) {
		f.Add(encoded(f, with.Proto()), metadata)
	}
	without := *with
	without.Metadata, without.ReadOnly = nil, true
	f.Add(encoded(f, without.Proto()), []byte(nil))
	f.Fuzz(readTable)
}

func readTable(t *testing.T, b, metadata []byte) {
	m := &seracv1.Table{}
	if proto.Unmarshal(b, m) != nil {
		return
	}
	if len(metadata) > 0 {
		m.Metadata = metadata
	}
	got, err := TableFrom(m)
	if err != nil {
		require.NotContains(t, err.Error(), mark)
		return
	}
	again, err := TableFrom(got.Proto())
	require.NoError(t, err, "what was read can be sent on")
	require.Equal(t, got, again)
	if len(got.Metadata) == 0 {
		return
	}
	start := time.Now()
	rebuilt, err := NewTables(TablesOptions{}).Rebuild(t.Context(), got)
	require.Less(t, time.Since(start), 20*time.Second)
	if err != nil {
		require.NotContains(t, err.Error(), mark)
		return
	}
	require.Equal(t, got.FormatVersion, rebuilt.Metadata().Version())
	// What executors ask a table for is there, or is nil: it does not panic.
	require.NotNil(t, rebuilt.Schema())
	_, _ = rebuilt.Spec(), rebuilt.SortOrder()
	_ = rebuilt.CurrentSnapshot()
	_ = rebuilt.Location()
}

// FuzzStorage reads storage configurations, as they travel and as they are below the cover.
func FuzzStorage(f *testing.F) {
	plain := encoded(f, &seracv1.Storage{Properties: map[string][]byte{"s3.region": []byte("eu"), "s3.secret-access-key": []byte(mark)}})
	f.Add(plain)
	f.Add(cover(plain))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, covered := range [][]byte{b, cover(b)} {
			got, err := uncoverFileIO(covered)
			if err != nil {
				require.NotContains(t, err.Error(), mark)
				continue
			}
			again, err := uncoverFileIO(coverFileIO(got))
			require.NoError(t, err)
			require.Equal(t, got.Reveal(), again.Reveal())
			for _, name := range got.Names() {
				require.True(t, isStorageKey(name), name)
			}
		}
	})
}

// FuzzFailure reads failures.
func FuzzFailure(f *testing.F) {
	for kind := range seracv1.FailureKind_name {
		f.Add(encoded(f, &seracv1.Failure{Kind: seracv1.FailureKind(kind), Message: "why", ShuffleFile: &seracv1.ShuffleFile{Partition: 3}}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &seracv1.Failure{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		err := ErrorFrom(m)
		require.NotEmpty(t, err.Error())
		kind := KindOf(err)
		require.NotNil(t, sentinels[kind], "each kind that comes out is one that there is")
		require.ErrorIs(t, err, sentinels[kind])
		require.Equal(t, kind, KindOf(ErrorFrom(FailureFrom(err))), "it keeps its kind on its way")
	})
}

// FuzzFileGroup appends groups as they come in parts.
func FuzzFileGroup(f *testing.F) {
	row := int64(7)
	group := &seracv1.FileGroup{
		Files: []*seracv1.FileScanTask{
			{Path: "a", SizeBytes: 10, RecordCount: 1, Deletes: []int32{0, 1}, FirstRowId: &row, Constants: map[int32][]byte{1: {1}}}, {Path: "b", Residual: 1},
		},
		Residuals:   []*seracv1.Residual{{Conjuncts: 3, Remaining: []int32{0, 2}}},
		DeleteFiles: []*seracv1.DeleteFile{{Path: "d", Content: seracv1.DeleteFile_CONTENT_POSITION}, {Path: "e", EqualityIds: []int32{1}}},
	}
	f.Add(encoded(f, group), encoded(f, group))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		to, more := &seracv1.FileGroup{}, &seracv1.FileGroup{}
		if proto.Unmarshal(a, to) != nil || proto.Unmarshal(b, more) != nil {
			return
		}
		files, deletes, residuals := len(to.GetFiles()), len(to.GetDeleteFiles()), len(to.GetResiduals())
		before := proto.CloneOf(more)
		start := time.Now()
		AppendFiles(to, more)
		require.Less(t, time.Since(start), 10*time.Second)
		require.True(t, proto.Equal(before, more), "what is appended stays as it is")
		require.Len(t, to.GetFiles(), files+len(more.GetFiles()))
		require.Len(t, to.GetDeleteFiles(), deletes+len(more.GetDeleteFiles()))
		require.Len(t, to.GetResiduals(), residuals+len(more.GetResiduals()))
		for i, file := range more.GetFiles() {
			if r := file.GetResidual(); r > 0 && int(r) <= len(more.GetResiduals()) {
				require.Same(t, more.GetResiduals()[r-1], to.GetResiduals()[to.GetFiles()[files+i].GetResidual()-1])
			}
			for j, d := range file.GetDeletes() {
				if d >= 0 && int(d) < len(more.GetDeleteFiles()) {
					moved := to.GetFiles()[files+i].GetDeletes()[j]
					require.Same(t, more.GetDeleteFiles()[d], to.GetDeleteFiles()[moved])
				}
			}
		}
	})
}
