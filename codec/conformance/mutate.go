package conformance

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

var (
	typeOfType   = reflect.TypeFor[plan.Type]()
	typeOfBig    = reflect.TypeFor[*big.Int]()
	typeOfSecret = reflect.TypeFor[wire.Secret]()
	typeOfFileIO = reflect.TypeFor[wire.FileIO]()
)

// clone is a copy of a plan that shares nothing with it that can be changed. Unexported fields are copied as they are.
func clone(n plan.Node) plan.Node {
	root := reflect.New(reflect.TypeFor[plan.Node]()).Elem()
	root.Set(reflect.ValueOf(n))
	return cloneValue(root).Interface().(plan.Node)
}

func cloneValue(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		switch {
		case v.IsNil():
			return v
		case v.Type() == typeOfBig:
			return reflect.ValueOf(new(big.Int).Set(v.Interface().(*big.Int)))
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(cloneValue(v.Elem()))
		return p
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		out.Set(cloneValue(v.Elem()))
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(cloneValue(v.Index(i)))
		}
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(cloneValue(v.Index(i)))
		}
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out = reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, key := range v.MapKeys() { // in a random order: the copy's buckets are filled in another one
			out.SetMapIndex(key, cloneValue(v.MapIndex(key)))
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(cloneValue(v.Field(i)))
			}
		}
	default:
		return v
	}
	return out
}

// errOpaque says that the other values of a type are not known.
var errOpaque = errors.New("its type hides what it holds: Options.Others must give other values of it")

// mutation changes one value of a plan: the at-th, to the variant-th of its other values.
type mutation struct {
	at, variant int
	others      func(any) []any

	seen    int
	field   fieldName
	applied bool
	err     error
}

// fieldName is a field of a type.
type fieldName struct {
	of   reflect.Type
	name string
}

func (f fieldName) String() string {
	if f.of == nil {
		return f.name
	}
	return f.of.Name() + "." + f.name
}

// mutate returns copies of a plan in which its at-th value is another, and the field that it is in; false when there are
// fewer values.
func mutate(n plan.Node, at int, others func(any) []any) (fieldName, []plan.Node, bool, error) {
	var out []plan.Node
	for variant := 0; ; variant++ {
		root := reflect.New(reflect.TypeFor[plan.Node]()).Elem()
		root.Set(reflect.ValueOf(clone(n)))
		m := &mutation{at: at, variant: variant, others: others}
		m.visit(root, fieldName{name: reflect.TypeOf(n).String()})
		if m.err != nil {
			return m.field, nil, true, fmt.Errorf("%s: %w", m.field, m.err)
		}
		if !m.applied {
			return m.field, out, m.seen > at, nil
		}
		out = append(out, root.Interface().(plan.Node))
	}
}

// visit counts the values in v, and changes the one asked for.
func (m *mutation) visit(v reflect.Value, field fieldName) {
	switch v.Type() {
	case typeOfType:
		m.scalar(v, field, plan.T(plan.Varchar), plan.T(plan.Integer), plan.T(plan.Double))
		return
	case typeOfBig:
		if !v.IsNil() {
			n := v.Interface().(*big.Int)
			m.scalar(v, field, new(big.Int).Add(n, big.NewInt(1)), new(big.Int).Sub(n, big.NewInt(1)))
		}
		return
	case typeOfSecret:
		if s := v.Interface().(wire.Secret); !s.Empty() {
			m.scalar(v, field, wire.NewSecret(s.Reveal()+"x"))
		}
		return
	case typeOfFileIO:
		f := v.Interface().(wire.FileIO)
		for name, value := range f.Reveal() {
			m.scalar(v, field, f.With(map[string]string{name: value + "x"}))
			return
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			m.visit(v.Elem(), field)
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		inner := reflect.New(v.Elem().Type()).Elem()
		inner.Set(v.Elem())
		m.visit(inner, field)
		v.Set(inner)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			m.visit(v.Index(i), field)
		}
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			m.entry(v, key, field)
		}
	case reflect.Struct:
		m.fields(v, field)
	case reflect.Bool:
		m.scalar(v, field, !v.Bool())
	case reflect.String:
		m.scalar(v, field, v.String()+"x")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		m.scalar(v, field, v.Int()^1, v.Int()+1, v.Int()-1, v.Int()+3)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		m.scalar(v, field, v.Uint()^1, v.Uint()+1, v.Uint()-1)
	case reflect.Float32, reflect.Float64:
		m.scalar(v, field, v.Float()+1, v.Float()/2, 1)
	default:
		m.opaque(v, field)
	}
}

func (m *mutation) fields(v reflect.Value, field fieldName) {
	open := false
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		open = true
		m.visit(v.Field(i), fieldName{of: v.Type(), name: f.Name})
	}
	if !open && v.NumField() > 0 {
		m.opaque(v, field)
	}
}

func (m *mutation) opaque(v reflect.Value, field fieldName) {
	var others []any
	if m.others != nil {
		others = m.others(v.Interface())
	}
	if len(others) == 0 && m.seen == m.at {
		m.field, m.err = field, errOpaque
	}
	m.scalar(v, field, others...)
}

// entry changes the value of a map's entry, and then takes the entry away.
func (m *mutation) entry(v, key reflect.Value, field fieldName) {
	inner := reflect.New(v.Type().Elem()).Elem()
	inner.Set(v.MapIndex(key))
	m.visit(inner, field)
	v.SetMapIndex(key, inner)
	if m.seen == m.at {
		m.field = field
		if m.variant == 0 {
			v.SetMapIndex(key, reflect.Value{})
			m.applied = true
		}
	}
	m.seen++
}

func (m *mutation) scalar(v reflect.Value, field fieldName, others ...any) {
	if m.seen == m.at {
		m.field = field
		if m.variant < len(others) {
			v.Set(reflect.ValueOf(others[m.variant]).Convert(v.Type()))
			m.applied = true
		}
	}
	m.seen++
}

// sortedKeys are a map's keys in an order that is the same each time.
func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	for i := range keys {
		for j := i; j > 0 && fmt.Sprint(keys[j]) < fmt.Sprint(keys[j-1]); j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
	return keys
}
