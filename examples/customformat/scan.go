package customformat

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/examples/customformat/scanpb"
	"github.com/seracdb/serac/plan"
)

// Scan is the leaf of a plan that reads a table. Its exported fields are all there is to it: it is rebuilt from them on
// every executor.
type Scan struct {
	Leaf plan.LeafID
	// Table is the table's name, for people.
	Table string
	// Columns are those of the table's files.
	Columns plan.Schema
	// Read are the positions in Columns of the columns that the scan gives.
	Read []int
}

var _ plan.ExtensionLeaf = (*Scan)(nil)

// Name is the name of the message that the scan travels as.
func (*Scan) Name() string { return string((&scanpb.CSVScan{}).ProtoReflect().Descriptor().FullName()) }

// LeafID names the leaf within its fragment.
func (s *Scan) LeafID() plan.LeafID { return s.Leaf }

// Schema is the columns that the scan gives.
func (s *Scan) Schema([]plan.Schema) plan.Schema {
	out := make(plan.Schema, len(s.Read))
	for i, at := range s.Read {
		if at >= 0 && at < len(s.Columns) { // the codec refuses others
			out[i] = s.Columns[at]
		}
	}
	return out
}

// Explain is the scan's line in EXPLAIN.
func (s *Scan) Explain() string {
	return fmt.Sprintf("CSVScan %s leaf=%d columns=[%s]", s.Table, s.Leaf, strings.Join(s.Schema(nil).Names(), ", "))
}

// Codec turns scans into messages and back.
type Codec struct{}

var _ codec.Extension = Codec{}

// Message is an empty CSVScan.
func (Codec) Message() proto.Message { return &scanpb.CSVScan{} }

// Version is the version of CSVScan and CSVFile.
func (Codec) Version() int32 { return 1 }

// Encode is the scan as a CSVScan.
func (Codec) Encode(n plan.ExtensionImpl) (proto.Message, error) {
	s, ok := n.(*Scan)
	if !ok {
		return nil, fmt.Errorf("%T is no CSV scan", n)
	}
	m := &scanpb.CSVScan{Leaf: int32(s.Leaf), Table: s.Table}
	for _, c := range s.Columns {
		m.Columns = append(m.Columns, &scanpb.Column{Name: c.Name, Type: c.Type.SQL(), Nullable: c.Nullable})
	}
	for _, at := range s.Read {
		if at < 0 || at >= len(s.Columns) {
			return nil, fmt.Errorf("column %d of %d", at, len(s.Columns))
		}
		m.Read = append(m.Read, int32(at))
	}
	return m, nil
}

// Decode is the scan that a CSVScan describes. The message may come from anywhere: a scan that comes out of here can be
// asked for its schema and rendered.
func (Codec) Decode(m proto.Message, _ int32, inputs []plan.Schema) (plan.ExtensionImpl, error) {
	scan := m.(*scanpb.CSVScan)
	s := &Scan{Leaf: plan.LeafID(scan.GetLeaf()), Table: scan.GetTable()}
	if len(inputs) > 0 {
		return nil, errors.New("a scan has no inputs")
	}
	for _, c := range scan.GetColumns() {
		t, err := columnType(c.GetType())
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.GetName(), err)
		}
		if c.GetName() == "" {
			return nil, errors.New("a column without a name")
		}
		s.Columns = append(s.Columns, plan.Column{Name: c.GetName(), Type: t, Nullable: c.GetNullable()})
	}
	for _, at := range scan.GetRead() {
		if at < 0 || int(at) >= len(s.Columns) {
			return nil, fmt.Errorf("column %d of %d", at, len(s.Columns))
		}
		s.Read = append(s.Read, int(at))
	}
	if len(s.Read) == 0 {
		return nil, errors.New("a scan without columns")
	}
	return s, nil
}
