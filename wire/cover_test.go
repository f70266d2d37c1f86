package wire

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func TestCoverComesOff(t *testing.T) {
	for n := range 100 {
		plain := bytes.Repeat([]byte("a"), n)
		covered := cover(plain)
		got, err := uncover(covered)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, got))
		require.Equal(t, covered, cover(plain))
		if n > 8 {
			require.NotContains(t, string(covered), "aaaa")
		}
		for i := range covered {
			damaged := bytes.Clone(covered)
			damaged[i] ^= 4
			_, err := uncover(damaged)
			require.Error(t, err)
		}
	}
}

func TestAnyValueCrosses(t *testing.T) {
	f := NewFileIO(map[string]string{"s3.a": "\xff\x00", "s3.b": "", "s3.\xff": "no key"})
	got, err := uncoverFileIO(coverFileIO(f))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"s3.a": "\xff\x00", "s3.b": ""}, got.Reveal())
}

func TestMessagesPrintNoSecret(t *testing.T) {
	m := (&Table{Key: "k", Identifier: []string{"c", "t"}, MetadataLocation: "l", FormatVersion: 2, FileIO: secretFileIO()}).Proto()
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	j, err := protojson.Marshal(m)
	require.NoError(t, err)
	for _, text := range []string{m.String(), fmt.Sprintf("%+v", m), fmt.Sprintf("%#v", m), prototext.Format(m), string(j), string(b), fmt.Sprintf("%q", b)} {
		require.NotContains(t, text, mark)
	}
	got, err := TableFrom(m)
	require.NoError(t, err)
	require.Equal(t, mark, got.FileIO.Reveal()["s3.secret-access-key"])
}
