package conformance

import (
	"fmt"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// parsed is a fragment as messages, which can be changed.
type parsed struct {
	fragment *seracv1.Fragment
	plan     *pb.Plan
}

var deep = proto.UnmarshalOptions{RecursionLimit: 100_000}

func open(b []byte) (*parsed, error) {
	p := &parsed{fragment: &seracv1.Fragment{}, plan: &pb.Plan{}}
	if err := deep.Unmarshal(b, p.fragment); err != nil {
		return nil, fmt.Errorf("the bytes are no serac.v1.Fragment: %w", err)
	}
	if err := deep.Unmarshal(p.fragment.GetPlan(), p.plan); err != nil {
		return nil, fmt.Errorf("the fragment has no substrait.Plan: %w", err)
	}
	return p, nil
}

func (p *parsed) bytes() ([]byte, error) {
	b, err := proto.Marshal(p.plan)
	if err != nil {
		return nil, fmt.Errorf("serialize the changed plan: %w", err)
	}
	p.fragment.Plan = b
	b, err = proto.Marshal(p.fragment)
	if err != nil {
		return nil, fmt.Errorf("serialize the changed fragment: %w", err)
	}
	return b, nil
}

// eachAny calls f with each google.protobuf.Any of the plan, those in messages of Anys included. A change that f makes counts
// once it has called pack.
func (p *parsed) eachAny(f func(any *anypb.Any, pack func() error) error) error {
	return eachMessage(p.plan.ProtoReflect(), func(m protoreflect.Message) error {
		any, ok := m.Interface().(*anypb.Any)
		if !ok {
			return nil
		}
		return f(any, packOf(m))
	})
}

// packOf makes changes of a message count that eachMessage gave.
func packOf(m protoreflect.Message) func() error {
	if in, ok := m.(inside); ok {
		return in.pack
	}
	return func() error { return nil }
}

// eachMessage calls f with a message and all in it. Of an Any, the Any first, and then, where its type is linked into this
// process, what is in its message: of that, changes count once they are packed (packOf).
func eachMessage(m protoreflect.Message, f func(protoreflect.Message) error) error {
	if err := f(m); err != nil {
		return err
	}
	if any, ok := m.Interface().(*anypb.Any); ok {
		return eachInside(any, f)
	}
	var err error
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := 0; i < v.List().Len() && err == nil; i++ {
				err = eachMessage(v.List().Get(i).Message(), f)
			}
		default:
			err = eachMessage(v.Message(), f)
		}
		return err == nil
	})
	return err
}

// inside is a message in an Any: a change of it counts only once it is packed again.
type inside struct {
	protoreflect.Message
	pack func() error
}

// eachInside visits the messages in an Any.
func eachInside(any *anypb.Any, f func(protoreflect.Message) error) error {
	inner, err := any.UnmarshalNew()
	if err != nil {
		return nil // a type that is not linked in: f has seen the Any
	}
	value := any.GetValue()
	defer func() { any.Value = value }()
	root := inner.ProtoReflect()
	pack := func() error {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(inner)
		any.Value = b
		return err
	}
	return eachMessage(root, func(m protoreflect.Message) error {
		if outer, ok := m.(inside); ok { // deeper: pack the Any in between, and then this one
			m = inside{Message: outer.Message, pack: func() error {
				if err := outer.pack(); err != nil {
					return err
				}
				return pack()
			}}
		} else {
			m = inside{Message: m, pack: pack}
		}
		return f(m)
	})
}
