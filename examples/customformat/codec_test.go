package customformat_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/codec/conformance"
	"github.com/seracdb/serac/examples/customformat"
	"github.com/seracdb/serac/examples/customformat/scanpb"
	"github.com/seracdb/serac/plan"
)

func TestCodecConforms(t *testing.T) {
	scan := &customformat.Scan{
		Leaf: 3, Table: "shop.orders", Read: []int{2, 0},
		Columns: plan.Schema{
			{Name: "id", Type: plan.T(plan.BigInt)}, {Name: "note", Type: plan.T(plan.Varchar), Nullable: true},
			{Name: "total", Type: plan.DecimalType(12, 2), Nullable: true},
		},
	}
	conformance.Run(t, conformance.Options{
		Extensions: []codec.Extension{customformat.Codec{}},
		Cases:      []conformance.Case{{Name: "scan", Node: &plan.Extension{Impl: scan}}},
	})
}

func TestDecodeRefusesWhatCannotBeRead(t *testing.T) {
	column := func(kind string) []*scanpb.Column { return []*scanpb.Column{{Name: "a", Type: kind}} }
	for says, m := range map[string]*scanpb.CSVScan{
		"without columns":         {Columns: column("BIGINT")},
		"column 1 of 1":           {Columns: column("BIGINT"), Read: []int32{1}},
		"column -1 of 1":          {Columns: column("BIGINT"), Read: []int32{-1}},
		"cannot be in a CSV file": {Columns: column("BIGINT[]"), Read: []int32{0}},
		`column "a"`:              {Columns: column("NOTHING"), Read: []int32{0}},
		"a column without a name": {Columns: []*scanpb.Column{{Type: "BIGINT"}}, Read: []int32{0}},
	} {
		_, err := customformat.Codec{}.Decode(proto.Message(m), 1, nil)
		require.ErrorContains(t, err, says)
	}
}
