package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// packageOfPlan is where our own nodes are declared.
var packageOfPlan = typeOfType.PkgPath()

// fields changes each exported field in each case once: the bytes change, and the change survives. No field may be unset in
// all cases, or be unchangeable in all of them: it would not have been tried.
func (s *suite) fields() error {
	set, changed := map[fieldName]bool{}, map[fieldName]bool{}
	var failures []error
	for _, c := range s.Cases {
		noteFields(reflect.ValueOf(&c.Node).Elem(), set)
		if err := s.changeFields(c, changed); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", c.Name, err))
		}
	}
	for _, field := range inOrder(set) {
		if !s.demanded(field) {
			continue
		}
		if !set[field] && !slices.Contains(s.Unset, field.String()) {
			failures = append(failures, fmt.Errorf("no case sets %s", field))
		}
	}
	for _, field := range inOrder(changed) {
		if s.demanded(field) && !changed[field] && !slices.Contains(s.Unchanged, field.String()) {
			failures = append(failures, fmt.Errorf("no other value of %s encodes in any case", field))
		}
	}
	return errors.Join(failures...)
}

// demanded says whether the cases must try a field: those of our own nodes only where the cases are to have them all.
func (s *suite) demanded(f fieldName) bool {
	return f.of != nil && (s.Plan || f.of.PkgPath() != packageOfPlan)
}

// changeFields changes each value of a case.
func (s *suite) changeFields(c Case, changed map[fieldName]bool) error {
	tables := s.tables(c)
	original, err := s.encode(c.Node, tables)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	for at := 0; ; at++ {
		field, candidates, more, err := mutate(c.Node, at, s.Others)
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		if _, seen := changed[field]; !seen {
			changed[field] = false
		}
		for _, n := range candidates {
			if reflect.DeepEqual(n, c.Node) {
				continue
			}
			b, err := s.encode(n, tables)
			if isPanic(err) {
				return fmt.Errorf("encode with another %s: %w", field, err)
			}
			if err != nil {
				continue // that value is none here: a column that there is not, an unknown kind
			}
			if bytes.Equal(original, b) {
				return fmt.Errorf("%s is missed: changing it does not change the bytes", field)
			}
			f, err := s.decode(b)
			if err != nil {
				return fmt.Errorf("decode with another %s: %w", field, err)
			}
			if err := equal(n, f.Root); err != nil {
				return fmt.Errorf("decoded with another %s: %w", field, err)
			}
			changed[field] = true
		}
	}
}

// noteFields notes for each exported field of each struct in v whether it is set.
func noteFields(v reflect.Value, set map[fieldName]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Type() != typeOfBig {
			noteFields(v.Elem(), set)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			noteFields(v.Index(i), set)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			noteFields(v.MapIndex(key), set)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			name := fieldName{of: v.Type(), name: f.Name}
			set[name] = set[name] || !v.Field(i).IsZero()
			noteFields(v.Field(i), set)
		}
	}
}

func inOrder(fields map[fieldName]bool) []fieldName {
	var out []fieldName
	for f := range fields {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b fieldName) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	return out
}

// HasNodes lists the node types in the cases, by their names in package plan ("IcebergScan"); expressions too.
func HasNodes(cases []Case) map[string]bool {
	set := map[fieldName]bool{}
	for _, c := range cases {
		noteFields(reflect.ValueOf(&c.Node).Elem(), set)
	}
	names := map[string]bool{}
	for f := range set {
		if f.of.PkgPath() == packageOfPlan {
			names[f.of.Name()] = true
		}
	}
	return names
}
