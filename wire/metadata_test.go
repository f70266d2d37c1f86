package wire

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

func TestDamagedMetadataIsATypedError(t *testing.T) {
	refused := func(metadata []byte, says string) {
		t.Helper()
		w := &Table{Key: "k", Identifier: []string{"c", "t"}, MetadataLocation: "/t/v1.json", FormatVersion: 2, Metadata: metadata}
		tables := NewTables(TablesOptions{})
		_, err := tables.Rebuild(t.Context(), w)
		require.ErrorIs(t, err, ErrDamagedMetadata)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "rebuild table k")
		require.Equal(t, seracv1.FailureKind_FAILURE_KIND_STATEMENT, KindOf(err), "it fails everywhere alike")
		w.Metadata = inlineMetadata(t)
		_, err = tables.Rebuild(t.Context(), w)
		require.NoError(t, err, "and is not kept")
	}
	good := inlineMetadata(t)
	refused(good[:len(good)-1], "invalid metadata")
	refused([]byte(`{"format-version":2}`), "invalid metadata")
	refused(bytes.Repeat([]byte(" "), MaxInlineMetadata+1), "1048577 bytes")
	refused([]byte(strings.Repeat(`{"a":[`, maxMetadataNesting)), "nests deeper than 500 levels")

	deep := strings.Repeat("[", maxMetadataNesting)
	require.NoError(t, checkInline([]byte(deep)))
	require.Error(t, checkInline([]byte(deep+"{")))
	require.NoError(t, checkInline([]byte(`{"a":"`+strings.Repeat(`{[\"`, 2*maxMetadataNesting)+`"}`)), "texts nest nothing")
	require.NoError(t, checkInline([]byte(strings.Repeat("[],", 2*maxMetadataNesting))))
}

// A load is nobody's call: a panic in it would end the process.
func TestAPanicOfTheMetadataParserIsAnError(t *testing.T) {
	m, err := parsed(func() (table.Metadata, error) { panic("index out of range") })
	require.Nil(t, m)
	require.ErrorIs(t, err, ErrDamagedMetadata)
	require.ErrorContains(t, err, "index out of range")
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_STATEMENT, KindOf(err))
}

func TestDamagedMetadataFilesAreErrors(t *testing.T) {
	for i, metadata := range hostile(t) {
		location := filepath.Join(t.TempDir(), "v1.metadata.json")
		require.NoError(t, os.WriteFile(location, metadata, 0o600))
		w := &Table{Key: "k", Identifier: []string{"c", "t"}, MetadataLocation: location, FormatVersion: 2}
		rebuilt, err := NewTables(TablesOptions{}).Rebuild(t.Context(), w)
		if err == nil {
			require.NotNil(t, rebuilt.Schema(), "%d: %s", i, metadata)
			continue
		}
		require.ErrorContains(t, err, "rebuild table k", "%d: %s", i, metadata)
	}
}
