package codec

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// maxFragment is the largest fragment in bytes. What is larger belongs into assignments, which travel in parts.
	maxFragment = 64 << 20
	// maxDepth is how deep nodes, and within a node expressions, types and literals, may nest: DuckDB's own limit on
	// expressions (max_expression_depth).
	maxDepth = 1000
	// maxNesting bounds protobuf's recursion: one level of a plan takes up to six messages.
	maxNesting = 10 * maxDepth
)

// depth counts how deep a walk over a plan stands.
type depth int

func (d *depth) enter(what string) error {
	if *d >= maxDepth {
		return fmt.Errorf("%s nest deeper than %d levels", what, maxDepth)
	}
	*d++
	return nil
}

func (d *depth) leave() { *d-- }

var (
	marshal   = proto.MarshalOptions{Deterministic: true}
	unmarshal = proto.UnmarshalOptions{RecursionLimit: maxNesting}
)

// parse unmarshals a message and refuses fields that this version does not know, in it and below: they were set because
// they matter, unless they are hints. Messages inside google.protobuf.Any and bytes are parsed, and looked at, where they are used.
func parse(b []byte, m proto.Message) error {
	if err := unmarshal.Unmarshal(b, m); err != nil {
		return fmt.Errorf("parse %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return refuseUnknown(m.ProtoReflect())
}

// Parse unmarshals a message as the codec does: bytes that are cut off, too deep or have fields that this version does not
// know are an error. It is for messages that belong to an Extension and travel beside the plan.
func Parse(b []byte, m proto.Message) error { return parse(b, m) }

func refuseUnknown(m protoreflect.Message) error {
	if number, matters := firstThatMatters(m); matters {
		return fmt.Errorf("%s has field %d, which this version does not know", m.Descriptor().FullName(), number)
	}
	var err error
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Message() == nil {
			return true
		}
		switch {
		case field.IsMap():
			if field.MapValue().Message() == nil {
				return true
			}
			value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				err = refuseUnknown(v.Message())
				return err == nil
			})
		case field.IsList():
			for i, list := 0, value.List(); i < list.Len() && err == nil; i++ {
				err = refuseUnknown(list.Get(i).Message())
			}
		default:
			err = refuseUnknown(value.Message())
		}
		return err == nil
	})
	return err
}
