package codec

import (
	"bytes"
	"sync"
	"testing"

	"github.com/seracdb/serac/codec/conformance/samples"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
	"github.com/stretchr/testify/require"
)

// tables are those that the samples name.
func tables() []*wire.Table {
	table := func(key string) *wire.Table {
		return &wire.Table{
			Key: key, Identifier: []string{"serac", "ns", key}, MetadataLocation: "file:///w/" + key + "/v1.metadata.json",
			FileIO: wire.NewFileIO(map[string]string{"s3.region": "eu", "s3.secret-access-key": "k"}), ReadOnly: true,
			FormatVersion: 2, Metadata: []byte(`{"format-version":2}`),
		}
	}
	return []*wire.Table{table("t"), table("tx")}
}

// roundTrip encodes a plan twice and decodes it.
func roundTrip(t *testing.T, root plan.Node) (plan.Node, []byte) {
	t.Helper()
	b, err := EncodeFragment(root, tables())
	require.NoError(t, err)
	again, err := EncodeFragment(root, tables())
	require.NoError(t, err)
	require.Equal(t, b, again, "encoding is deterministic")
	f, err := DecodeFragment(b)
	require.NoError(t, err)
	require.Len(t, f.Tables, 2)
	return f.Root, b
}

func TestEverySampleRoundTrips(t *testing.T) {
	for _, s := range samples.Nodes() {
		t.Run(s.Name, func(t *testing.T) {
			got, b := roundTrip(t, s.Node)
			require.Equal(t, s.Node, got)
			require.True(t, s.Node.Schema().Equal(got.Schema()))
			again, err := EncodeFragment(got, tables())
			require.NoError(t, err)
			require.Equal(t, b, again, "what was decoded encodes to the same bytes")
		})
	}
}

func TestConcurrentUse(t *testing.T) {
	n := everything()
	want, err := EncodeFragment(n, tables())
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			f, err := DecodeFragment(want)
			if err != nil {
				t.Error(err)
				return
			}
			if b, err := EncodeFragment(f.Root, tables()); err != nil || !bytes.Equal(want, b) {
				t.Errorf("bytes differ: %v", err)
			}
		})
	}
	group.Wait()
}
