package format

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// Set is the formats that a process has. It does not change and is safe for concurrent use. The zero Set is empty.
type Set struct {
	byName, byMessage map[string]Format
	registry          *codec.Registry
}

// NewSet is a set of formats, in any order. Two with one name, or with one message, are an error.
func NewSet(formats ...Format) (*Set, error) {
	s := &Set{byName: map[string]Format{}, byMessage: map[string]Format{}, registry: codec.NewRegistry()}
	for _, f := range formats {
		if f.Name() == "" {
			return nil, fmt.Errorf("table format %T: it has no name", f)
		}
		if s.byName[f.Name()] != nil {
			return nil, fmt.Errorf("table format %s: there are two of that name", f.Name())
		}
		x := f.Codec()
		if err := s.registry.Register(x); err != nil {
			return nil, fmt.Errorf("table format %s: %w", f.Name(), err)
		}
		s.byName[f.Name()] = f
		s.byMessage[messageName(x.Message())] = f
	}
	return s, nil
}

func messageName(m proto.Message) string { return string(m.ProtoReflect().Descriptor().FullName()) }

// Registry has the codecs of the formats' leaves.
func (s *Set) Registry() *codec.Registry {
	if s.registry == nil {
		return codec.Default
	}
	return s.registry
}

// Codec encodes and decodes plans with leaves of the formats.
func (s *Set) Codec() *codec.Codec { return codec.New(s.Registry()) }

// Names are the formats' names, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }

// Open opens a catalog of the format called name.
func (s *Set) Open(ctx context.Context, name string, c Config) (Catalog, error) {
	f := s.byName[name]
	if f == nil {
		there := "none is built in"
		if names := s.Names(); len(names) > 0 {
			there = "there is " + strings.Join(names, ", ")
		}
		return nil, fmt.Errorf("open catalog %s: unknown table format %q: %s", c.Name, name, there)
	}
	opened, err := f.Open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open %s catalog %s: %w", name, c.Name, err)
	}
	return opened, nil
}

// SQL is the SELECT that reads what a task is assigned of a leaf. r has what the format needs beside leaf and splits.
func (s *Set) SQL(ctx context.Context, n *plan.Extension, splits []*seracv1.Split, r Read) (string, error) {
	leaf, ok := n.Impl.(plan.ExtensionLeaf)
	f := s.byMessage[n.Impl.Name()]
	if !ok || f == nil {
		return "", fmt.Errorf("%s is no leaf of a table format that is built in", n.Impl.Name())
	}
	r.Leaf, r.Splits = leaf, make([]proto.Message, len(splits))
	for i, split := range splits {
		m := f.Split().ProtoReflect().New().Interface()
		if got, want := string(split.GetMessage().MessageName()), messageName(m); got != want {
			return "", fmt.Errorf("split %d is a %s, and those of table format %s are %s", i, got, f.Name(), want)
		}
		if err := codec.Parse(split.GetMessage().GetValue(), m); err != nil {
			return "", fmt.Errorf("split %d: %w", i, err)
		}
		r.Splits[i] = m
	}
	sql, err := f.SQL(ctx, r)
	return sql, Failure(err)
}

// Failure types an error of a format that has no kind: what is wrong with a table is the statement's own failure, which
// trying again does not mend.
func Failure(err error) error {
	if err == nil || wire.KindOf(err) != seracv1.FailureKind_FAILURE_KIND_INTERNAL {
		return err
	}
	return wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, err)
}
