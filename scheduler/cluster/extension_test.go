package cluster

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// TestExtensionsInMetadata: a column that its producer marks as an extension in the metadata comes as it was announced,
// whatever the reader of the stream makes of it.
func TestExtensionsInMetadata(t *testing.T) {
	announced := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.BinaryTypes.Binary, Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{
		"ARROW:extension:name": "arrow.opaque", "ARROW:extension:metadata": `{"type_name":"bignum","vendor_name":"DuckDB"}`,
	})}}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, announced)
	defer builder.Release()
	builder.Field(0).(*array.BinaryBuilder).Append([]byte("x"))
	batch := builder.NewRecordBatch()
	defer batch.Release()
	var wire bytes.Buffer
	w := ipc.NewWriter(&wire, ipc.WithSchema(announced))
	require.NoError(t, w.Write(batch))
	require.NoError(t, w.Close())
	reader, err := ipc.NewReader(&wire)
	require.NoError(t, err)
	defer reader.Release()
	require.Equal(t, arrow.EXTENSION, reader.Schema().Field(0).Type.ID(), "else this test shows nothing")

	r := &Run{o: runOptions{schema: announced}}
	schema, err := r.schemaFor(reader.Schema())
	require.NoError(t, err)
	require.True(t, reader.Next())
	got, err := renamed(reader.RecordBatch(), schema)
	require.NoError(t, err)
	defer got.Release()
	require.True(t, announced.Equal(got.Schema()))
	require.Equal(t, []byte("x"), got.Column(0).(*array.Binary).Value(0))
}
