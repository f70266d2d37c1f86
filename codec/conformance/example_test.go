package conformance_test

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/codec/conformance"
	"github.com/seracdb/serac/plan"
)

// pagesScan reads the lines of a file, a page of them at a time.
type pagesScan struct {
	Path   string
	Lines  int64 // a page
	Header bool
}

func (s *pagesScan) Name() string    { return "google.protobuf.Struct" } // yours has a name of its own
func (s *pagesScan) Explain() string { return fmt.Sprintf("PagesScan %d lines", s.Lines) }
func (s *pagesScan) Schema([]plan.Schema) plan.Schema {
	return plan.Schema{{Name: "line", Type: plan.T(plan.Varchar)}}
}

// pagesCodec is its codec, version 2. Version 1 knew no headers.
type pagesCodec struct{}

func (pagesCodec) Message() proto.Message { return &structpb.Struct{} }
func (pagesCodec) Version() int32         { return 2 }

func (pagesCodec) Encode(n plan.ExtensionImpl) (proto.Message, error) {
	s, ok := n.(*pagesScan)
	if !ok {
		return nil, fmt.Errorf("%T is no pages scan", n)
	}
	if s.Path == "" || s.Lines < 1 { // better here than on every executor
		return nil, errors.New("a pages scan has a path and some lines a page")
	}
	return structpb.NewStruct(map[string]any{"path": s.Path, "lines": s.Lines, "header": s.Header})
}

func (pagesCodec) Decode(m proto.Message, version int32, inputs []plan.Schema) (plan.ExtensionImpl, error) {
	fields := m.(*structpb.Struct).GetFields()
	s := &pagesScan{
		Path: fields["path"].GetStringValue(), Lines: int64(fields["lines"].GetNumberValue()), Header: fields["header"].GetBoolValue(),
	}
	if s.Path == "" || s.Lines < 1 || len(inputs) > 0 { // the bytes came from elsewhere
		return nil, errors.New("a pages scan has a path, some lines a page, and no input")
	}
	if version == 1 && s.Header {
		return nil, errors.New("version 1 has no headers")
	}
	return s, nil
}

// In your package's tests this is a test of its own: func TestPagesCodecConforms(t *testing.T).
func ExampleRun() {
	testPagesCodecConforms := func(t *testing.T) {
		conformance.Run(t, conformance.Options{
			Extensions: []codec.Extension{pagesCodec{}},
			Cases: []conformance.Case{
				{Name: "scan", Node: &plan.Extension{Impl: &pagesScan{Path: "a.txt", Lines: 10, Header: true}}},
				{Name: "plain", Node: &plan.Extension{Impl: &pagesScan{Path: "b.txt", Lines: 1}}, MaxBytes: 500},
			},
		})
	}
	_ = testPagesCodecConforms
}
