package iceberg

import (
	"testing"
	"time"

	ice "github.com/apache/iceberg-go"
	"github.com/stretchr/testify/require"
)

// The JSON forms of defaults, from the specification's Appendix C.
func TestEncodeDefaultReadsJSON(t *testing.T) {
	p := ice.PrimitiveTypes
	for _, c := range []struct {
		typ  ice.Type
		json any
		want any
	}{
		{p.Bool, true, true},
		{p.Int32, float64(34), int32(34)},
		{p.Int64, float64(-34), int64(-34)},
		{p.Float32, float64(1), float32(1)},
		{p.Float64, 0.25, 0.25},
		{p.Date, "2017-11-16", ice.Date(17486)},
		{p.Date, float64(-1), ice.Date(-1)},
		{p.Timestamp, "2017-11-16T22:31:08.123456", ice.Timestamp(time.Date(2017, 11, 16, 22, 31, 8, 123456000, time.UTC).UnixMicro())},
		{p.TimestampTz, "2017-11-16T22:31:08.123456+00:00", ice.Timestamp(time.Date(2017, 11, 16, 22, 31, 8, 123456000, time.UTC).UnixMicro())},
		{p.String, "iceberg", "iceberg"},
		{p.Binary, "00ff", []byte{0, 255}},
		{ice.FixedTypeOf(2), "00ff", []byte{0, 255}},
	} {
		got, err := encodeDefault(c.typ, c.json)
		require.NoError(t, err, "%s %v", c.typ, c.json)
		want, err := EncodeValue(c.typ, c.want)
		require.NoError(t, err)
		require.Equal(t, want, got, "%s %v", c.typ, c.json)
	}
	got, err := encodeDefault(ice.DecimalTypeOf(4, 2), "14.20")
	require.NoError(t, err)
	require.Equal(t, []byte{0x05, 0x8c}, got)
	for _, bad := range []any{1.5, float64(1 << 60), "x", []any{}} {
		_, err := encodeDefault(p.Int64, bad)
		require.Error(t, err, "%v", bad)
	}
}
