package codec

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/big"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/seracdb/serac/plan"
	"github.com/stretchr/testify/require"
)

// closedSets are the names of plan's types that have the method isNode or isExpr, from its source: a node or an expression
// that is added there is missed here.
func closedSets(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := os.ReadDir("../plan")
	require.NoError(t, err)
	for _, entry := range files {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), "../plan/"+entry.Name(), nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv != nil && (f.Name.Name == "isNode" || f.Name.Name == "isExpr") {
				names[f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name] = true
			}
		}
	}
	require.Greater(t, len(names), 30)
	return names
}

// inPlan says whether a type is one of package plan's structs.
func inPlan(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[plan.Column]().PkgPath()
}

// TestEveryFieldIsInASample says that each exported field of each struct of a plan is set in some sample. Together with the
// samples' round trips, no field is lost: one that is added to plan fails here until a sample sets it, and then there
// until the codec carries it.
func TestEveryFieldIsInASample(t *testing.T) {
	set := map[reflect.Type]map[string]bool{}
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				visit(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		case reflect.Struct:
			if !inPlan(v.Type()) {
				return
			}
			fields := set[v.Type()]
			if fields == nil {
				fields = map[string]bool{}
				set[v.Type()] = fields
			}
			for i := range v.NumField() {
				name := v.Type().Field(i).Name
				fields[name] = fields[name] || !v.Field(i).IsZero()
				visit(v.Field(i))
			}
		}
	}
	for _, s := range samples() {
		visit(reflect.ValueOf(s.node))
	}
	extension, _ := extensionSample()
	visit(reflect.ValueOf(extension))

	seen := map[string]bool{}
	for typ, fields := range set {
		seen[typ.Name()] = true
		for name, ok := range fields {
			require.True(t, ok, "no sample sets %s.%s", typ.Name(), name)
		}
	}
	for name := range closedSets(t) {
		require.True(t, seen[name], "no sample has a %s", name)
	}
}

// TestEveryFieldMatters changes each exported field of each node and expression once: the bytes change, and the change
// survives.
func TestEveryFieldMatters(t *testing.T) {
	seen, changed := map[string]bool{}, map[string]bool{}
	for _, s := range samples() {
		if strings.Contains(s.name, "/") || strings.HasPrefix(s.name, "expr in") || strings.HasPrefix(s.name, "expr right") {
			continue // variants of the samples that have everything set
		}
		original, err := EncodeFragment(s.node, tables())
		require.NoError(t, err)
		for at := 0; ; at++ {
			field, candidates := mutate(s.node, at)
			if field == "" {
				break
			}
			for _, m := range candidates {
				if reflect.DeepEqual(m, s.node) {
					continue
				}
				b, err := EncodeFragment(m, tables())
				if err != nil {
					continue // that value is none here: a column that there is not, an unknown kind
				}
				require.False(t, bytes.Equal(original, b), "%s: changing %s changes nothing", s.name, field)
				f, err := DecodeFragment(b)
				require.NoError(t, err, "%s: %s", s.name, field)
				require.Equal(t, m, f.Root, "%s: %s", s.name, field)
				changed[field] = true
			}
			seen[field] = true
		}
	}
	require.Greater(t, len(seen), 80)
	for field := range seen {
		require.True(t, changed[field], "no other value of %s encodes in any sample", field)
	}
}

// mutate returns copies of a plan in which its at-th scalar has other values, and the name of the field that it is in; ""
// when there are fewer.
func mutate(n plan.Node, at int) (string, []plan.Node) {
	var field string
	var out []plan.Node
	for variant := 0; ; variant++ {
		root := reflect.New(reflect.TypeFor[plan.Node]()).Elem()
		root.Set(clone(reflect.ValueOf(n)))
		m := &mutation{at: at, variant: variant}
		m.visit(root, "")
		field = m.field
		if !m.applied {
			return field, out
		}
		out = append(out, root.Interface().(plan.Node))
	}
}

// mutation changes one scalar.
type mutation struct {
	at, variant int
	seen        int
	field       string
	applied     bool
}

// visit counts the scalars of v, and gives the one asked for the variant-th other value.
func (m *mutation) visit(v reflect.Value, field string) {
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
	case reflect.Slice:
		for i := range v.Len() {
			m.visit(v.Index(i), field)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[plan.Type]() {
			m.scalar(v, field, plan.T(plan.Varchar), plan.T(plan.Integer), plan.T(plan.Double))
			return
		}
		for i := range v.NumField() {
			m.visit(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name)
		}
	case reflect.Bool:
		m.scalar(v, field, !v.Bool())
	case reflect.String:
		m.scalar(v, field, v.String()+"x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		m.scalar(v, field, v.Int()^1, v.Int()+1, v.Int()-1, v.Int()+3)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		m.scalar(v, field, v.Uint()^1, v.Uint()+1, v.Uint()-1)
	default:
		panic(fmt.Sprintf("%s: a %s cannot be changed: teach mutation.visit", field, v.Type()))
	}
}

func (m *mutation) scalar(v reflect.Value, field string, others ...any) {
	if m.seen == m.at {
		m.field = field
		if m.variant < len(others) {
			v.Set(reflect.ValueOf(others[m.variant]).Convert(v.Type()))
			m.applied = true
		}
	}
	m.seen++
}

// clone is a deep copy.
func clone(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*big.Int]() || v.IsNil() {
			return v
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(clone(v.Elem()))
		return p
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		out.Set(clone(v.Elem()))
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(clone(v.Index(i)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(clone(v.Field(i)))
		}
	default:
		return v
	}
	return out
}
