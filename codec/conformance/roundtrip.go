package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"reflect"

	"github.com/seracdb/serac/plan"
)

// mapOrders is how often a plan is encoded, so that the orders of maps show.
const mapOrders = 8

// roundTrip encodes and decodes twice: equal bytes, equal plans.
func (s *suite) roundTrip(c Case) error {
	tables := s.tables(c)
	before := clone(c.Node)
	first, err := s.encode(c.Node, tables)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if !reflect.DeepEqual(before, c.Node) {
		return errors.New("encoding changed the plan")
	}
	for range mapOrders {
		again, err := s.encode(clone(c.Node), tables)
		if err != nil {
			return fmt.Errorf("encode again: %w", err)
		}
		if !bytes.Equal(first, again) {
			return errors.New("encoding an equal plan gives other bytes: is something written in the order of a map?")
		}
	}
	kept := bytes.Clone(first)
	f, err := s.decode(first)
	if err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if !bytes.Equal(kept, first) {
		return errors.New("decoding changed the bytes")
	}
	if err := equal(c.Node, f.Root); err != nil {
		return fmt.Errorf("decoded plan: %w", err)
	}
	for _, t := range tables {
		if !reflect.DeepEqual(t, f.Tables[t.Key]) {
			return fmt.Errorf("table %s came back as another", t.Key)
		}
	}
	if len(f.Tables) != len(tables) {
		return fmt.Errorf("%d tables came back for %d", len(f.Tables), len(tables))
	}
	second, err := s.encode(f.Root, tables)
	if err != nil {
		return fmt.Errorf("encode what was decoded: %w", err)
	}
	if !bytes.Equal(first, second) {
		return errors.New("what was decoded encodes to other bytes")
	}
	g, err := s.decode(second)
	if err != nil {
		return fmt.Errorf("decode again: %w", err)
	}
	if err := equal(c.Node, g.Root); err != nil {
		return fmt.Errorf("plan decoded twice: %w", err)
	}
	// Bytes belong to whoever gave them: what was decoded must not change with them.
	for i := range first {
		first[i] = 0xff
	}
	if err := equal(c.Node, f.Root); err != nil {
		return fmt.Errorf("the decoded plan shares memory with the bytes: %w", err)
	}
	return nil
}

// equal says where two plans differ.
func equal(want, got plan.Node) error {
	if reflect.DeepEqual(want, got) {
		return nil
	}
	if at := difference(reflect.ValueOf(want), reflect.ValueOf(got), "plan"); at != "" {
		return fmt.Errorf("it differs at %s", at)
	}
	return nil
}

// difference is the path to the first difference of two values that differ. It names no values: they may be secret.
func difference(a, b reflect.Value, path string) string {
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		return path
	}
	if !a.IsValid() {
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return path
			}
			return ""
		}
		if a.Type() == typeOfBig && a.CanInterface() { // equal numbers may have other insides
			if a.Interface().(*big.Int).Cmp(b.Interface().(*big.Int)) != 0 {
				return path
			}
			return ""
		}
		if a.Kind() == reflect.Interface && a.Elem().Type() != b.Elem().Type() {
			return fmt.Sprintf("%s, a %s and a %s", path, a.Elem().Type(), b.Elem().Type())
		}
		return difference(a.Elem(), b.Elem(), path)
	case reflect.Slice, reflect.Array:
		if a.Kind() == reflect.Slice && a.IsNil() != b.IsNil() {
			return fmt.Sprintf("%s, of which one is nil and the other empty", path)
		}
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s, of lengths %d and %d", path, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if at := difference(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i)); at != "" {
				return at
			}
		}
		return ""
	case reflect.Struct:
		for i := range a.NumField() {
			if at := difference(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name); at != "" {
				return at
			}
		}
		return ""
	case reflect.Map:
		if a.Len() != b.Len() || a.IsNil() != b.IsNil() {
			return path
		}
		for _, key := range a.MapKeys() {
			if at := difference(a.MapIndex(key), b.MapIndex(key), fmt.Sprintf("%s[%v]", path, key)); at != "" {
				return at
			}
		}
		return ""
	}
	if a.Equal(b) {
		return ""
	}
	return path
}

// schemaAndExplain compares what a plan says of itself.
func (s *suite) schemaAndExplain(c Case) error {
	got, err := s.again(c)
	if err != nil {
		return err
	}
	if !c.Node.Schema().Equal(got.Schema()) {
		return fmt.Errorf("the schema is %v, was %v", got.Schema(), c.Node.Schema())
	}
	want, is := plan.Explain(c.Node), plan.Explain(got)
	if want != is {
		return fmt.Errorf("the explain text is\n%swas\n%s", is, want)
	}
	if want == "" {
		return errors.New("the plan explains itself with nothing")
	}
	return nil
}

// rows compares what a plan gives.
func (s *suite) rows(c Case) error {
	if s.Rows == nil || c.NoRows {
		return errNotTried
	}
	want, err := s.Rows(c.Node)
	if errors.Is(err, errors.ErrUnsupported) {
		return errNotTried
	}
	if err != nil {
		return fmt.Errorf("run the plan: %w", err)
	}
	decoded, err := s.again(c)
	if err != nil {
		return err
	}
	got, err := s.Rows(decoded)
	if err != nil {
		return fmt.Errorf("run the decoded plan: %w", err)
	}
	if !reflect.DeepEqual(want, got) && difference(reflect.ValueOf(want), reflect.ValueOf(got), "rows") != "" {
		return fmt.Errorf("the decoded plan gives %d rows, not the %d of the plan, or others", len(got), len(want))
	}
	return nil
}

// size holds a case to its budget.
func (s *suite) size(c Case) error {
	budget := c.MaxBytes
	if budget == 0 {
		budget = s.MaxBytes
	}
	b, err := s.encode(c.Node, s.tables(c))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if len(b) > budget {
		return fmt.Errorf("%d bytes are more than the budget of %d", len(b), budget)
	}
	return nil
}

// again is a plan encoded and decoded.
func (s *suite) again(c Case) (plan.Node, error) {
	b, err := s.encode(c.Node, s.tables(c))
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	f, err := s.decode(b)
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return f.Root, nil
}
