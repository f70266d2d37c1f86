package conformance

import (
	"fmt"
	"strings"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// unknownField is a field that no version knows; 19000 to 19999 are no field numbers of any message.
const unknownField = 19_000_000

// unknownHint is a field that no version knows and readers may ignore: the last number of the hints (plan.proto).
const unknownHint = 1999

// withField calls f with the fragment's bytes while a message of it has a field that no version knows.
func (p *parsed) withField(m protoreflect.Message, field protowire.Number, f func([]byte) error) error {
	pack := packOf(m)
	m.SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), 1))
	defer func() {
		m.SetUnknown(nil)
		_ = pack()
	}()
	if err := pack(); err != nil {
		return err
	}
	b, err := p.bytes()
	if err != nil {
		return err
	}
	return f(b)
}

// unknownFields adds a field that no version knows to each message of the fragment, one at a time. It must be refused: a
// newer writer set it because it matters. Hints, to each message that may have one, are ignored.
func (s *suite) unknownFields(c Case) error {
	b, err := s.encode(c.Node, s.tables(c))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	p, err := open(b)
	if err != nil {
		return err
	}
	for _, root := range []protoreflect.Message{p.fragment.ProtoReflect(), p.plan.ProtoReflect()} {
		err := eachMessage(root, func(m protoreflect.Message) error {
			name := string(m.Descriptor().FullName())
			err := p.withField(m, unknownField, func(b []byte) error { return s.refusesField(b, name) })
			if err != nil || strings.HasPrefix(name, "substrait.") || strings.HasPrefix(name, "google.") {
				return err
			}
			return p.withField(m, unknownHint, func(b []byte) error { return s.ignoresHint(b, name, c) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) refusesField(b []byte, name string) error {
	_, err := s.decode(b)
	if err == nil {
		return fmt.Errorf("a field of %s that is not known is ignored", name)
	}
	if isPanic(err) {
		return fmt.Errorf("with an unknown field in %s: %w", name, err)
	}
	if !strings.Contains(err.Error(), fmt.Sprint(unknownField)) {
		return fmt.Errorf("with an unknown field in %s the error does not name the field: %w", name, err)
	}
	return nil
}

func (s *suite) ignoresHint(b []byte, name string, c Case) error {
	f, err := s.decode(b)
	if err != nil {
		return fmt.Errorf("a hint in %s is refused: %w", name, err)
	}
	if err := equal(c.Node, f.Root); err != nil {
		return fmt.Errorf("with a hint in %s: %w", name, err)
	}
	return nil
}

// versions reads what a newer writer and what older ones wrote.
func (s *suite) versions(c Case) error {
	b, err := s.encode(c.Node, s.tables(c))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	p, err := open(b)
	if err != nil {
		return err
	}
	newer := p.fragment.GetVersion() + 1
	p.fragment.Version = newer
	if err := s.refusesVersion(p, "serac.v1.Fragment", newer); err != nil {
		return err
	}
	p.fragment.Version = newer - 1
	err = p.eachAny(func(any *anypb.Any, pack func() error) error { return s.newerMessage(p, any, pack) })
	if err != nil {
		return err
	}
	for _, old := range c.Older {
		f, err := s.decode(old.Bytes)
		if err != nil {
			return fmt.Errorf("what version %s wrote: %w", old.Version, err)
		}
		if err := equal(old.Node, f.Root); err != nil {
			return fmt.Errorf("what version %s wrote: %w", old.Version, err)
		}
	}
	return nil
}

// newerMessage raises the version of one message.
func (s *suite) newerMessage(p *parsed, any *anypb.Any, pack func() error) error {
	before := proto.CloneOf(any)
	defer func() {
		any.TypeUrl, any.Value = before.GetTypeUrl(), before.GetValue()
		_ = pack()
	}()
	name := any.GetTypeUrl()[strings.LastIndexByte(any.GetTypeUrl(), '/')+1:]
	if strings.HasPrefix(name, "serac.v1.") {
		any.TypeUrl = "type.googleapis.com/v99/" + name
		if err := pack(); err != nil {
			return err
		}
		if err := s.refusesVersion(p, name, 99); err != nil {
			return err
		}
		any.TypeUrl = before.GetTypeUrl()
	}
	if name != "serac.v1.ExtensionNode" {
		return pack()
	}
	node := &seracv1.ExtensionNode{}
	if err := proto.Unmarshal(any.GetValue(), node); err != nil {
		return fmt.Errorf("parse %s: %w", name, err)
	}
	name = node.GetMessage().GetTypeUrl()
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, version := range []int32{node.GetVersion() + 1, 0, -1} {
		node.Version = version
		b, err := proto.Marshal(node)
		if err != nil {
			return fmt.Errorf("serialize %s: %w", name, err)
		}
		any.Value = b
		if err := pack(); err != nil {
			return err
		}
		if err := s.refusesVersion(p, name, version); err != nil {
			return err
		}
	}
	return nil
}

// refusesVersion says that a changed fragment is refused with an error that names the message and its version.
func (s *suite) refusesVersion(p *parsed, name string, version int32) error {
	b, err := p.bytes()
	if err != nil {
		return err
	}
	_, err = s.decode(b)
	if err == nil {
		return fmt.Errorf("version %d of %s is read", version, name)
	}
	if isPanic(err) {
		return fmt.Errorf("version %d of %s: %w", version, name, err)
	}
	for _, text := range []string{name, fmt.Sprintf("version %d", version)} {
		if !strings.Contains(err.Error(), text) {
			return fmt.Errorf("version %d of %s is refused with an error that does not say %q: %w", version, name, text, err)
		}
	}
	return nil
}
