package codec

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/seracdb/serac/codec/conformance/samples"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

var (
	exprType     = reflect.TypeFor[plan.Expr]()
	nodeType     = reflect.TypeFor[plan.Node]()
	typeType     = reflect.TypeFor[plan.Type]()
	constantType = reflect.TypeFor[*plan.Constant]()
)

// eachPart calls f with each expression, type and node in v that can be set, with its path.
func eachPart(v reflect.Value, path string, f func(path string, part reflect.Value)) {
	switch v.Type() {
	case exprType, nodeType, typeType, constantType:
		if v.CanSet() && !v.IsZero() {
			f(path, v)
		}
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			eachPart(v.Elem(), path, f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				eachPart(v.Field(i), path+"."+field.Name, f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachPart(v.Index(i), path+"[]", f)
		}
	}
}

// distinctSamples are those in which an expression does not only stand elsewhere.
func distinctSamples() []samples.Sample {
	return slices.DeleteFunc(samples.Nodes(), func(s samples.Sample) bool {
		return strings.HasPrefix(s.Name, "expr in") || strings.HasPrefix(s.Name, "expr right")
	})
}

// A part that cannot be written, wherever it stands, is an error: no fragment goes out with a hole in it.
func TestAPartThatCannotBeWrittenIsAnError(t *testing.T) {
	bad := map[reflect.Type]reflect.Value{
		exprType:     reflect.ValueOf(&plan.ColumnRef{Index: 99, Of: big1}),
		constantType: reflect.ValueOf(&plan.Constant{Value: "x", Of: big1}),
		typeType:     reflect.ValueOf(plan.Type{}),
		nodeType:     reflect.ValueOf(&plan.Project{Input: leaf(1), Exprs: []plan.Expr{col(9)}}),
	}
	tried := 0
	for _, s := range distinctSamples() {
		eachPart(reflect.ValueOf(s.Node), s.Name, func(path string, part reflect.Value) {
			before := reflect.New(part.Type()).Elem()
			before.Set(part)
			part.Set(bad[part.Type()])
			_, err := EncodeFragment(s.Node, tables())
			part.Set(before)
			require.Error(t, err, path)
			tried++
		})
		_, err := EncodeFragment(s.Node, tables())
		require.NoError(t, err, "%s is as it was", s.Name)
	}
	require.Greater(t, tried, 1000)
}

// A part that cannot be read, wherever it stands, is an error: there is no plan with a hole in it.
func TestAPartThatCannotBeReadIsAnError(t *testing.T) {
	tried := 0
	for _, s := range distinctSamples() {
		b, err := EncodeFragment(s.Node, tables())
		require.NoError(t, err)
		fragment, p := parsedFragment(t, b)
		refused := func(what protoreflect.FullName) {
			fragment.Plan, err = proto.Marshal(p)
			require.NoError(t, err)
			changed, err := proto.Marshal(fragment)
			require.NoError(t, err)
			f, err := DecodeFragment(changed)
			tried++
			if err == nil && what == "substrait.Type" {
				require.Equal(t, s.Node, f.Root, "%s: of what follows from the arguments, the type is not read", s.Name)
				return
			}
			if err == nil {
				t.Errorf("%s: a damaged %s is read", s.Name, what)
			}
		}
		damageEach(p.GetRelations()[0].ProtoReflect(), refused)
	}
	require.Greater(t, tried, 1000)
}

// damageEach empties each relation, expression and type in m, and puts what is no message where serialized ones stand in
// ours, one at a time.
func damageEach(m protoreflect.Message, refused func(protoreflect.FullName)) {
	switch is := m.Interface().(type) {
	case *pb.Rel:
		before := is.RelType
		is.RelType = nil
		refused("substrait.Rel")
		is.RelType = before
	case *pb.Expression:
		before := is.RexType
		is.RexType = nil
		refused("substrait.Expression")
		is.RexType = before
	case *pb.Type:
		before := is.Kind
		is.Kind = nil
		refused("substrait.Type")
		is.Kind = before
	case *anypb.Any:
		damageInside(is, refused)
		return
	}
	eachMessageIn(m, func(inner protoreflect.Message) { damageEach(inner, refused) })
}

func eachMessageIn(m protoreflect.Message, f func(protoreflect.Message)) {
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := range v.List().Len() {
				f(v.List().Get(i).Message())
			}
		default:
			f(v.Message())
		}
		return true
	})
}

// damageInside damages the serialized messages in one of ours.
func damageInside(any *anypb.Any, refused func(protoreflect.FullName)) {
	whole := any.GetValue()
	defer func() { any.Value = whole }()
	inner, err := any.UnmarshalNew()
	if err != nil {
		return
	}
	try := func(field protoreflect.FieldDescriptor) {
		if any.Value, err = proto.Marshal(inner); err == nil {
			refused(field.FullName())
		}
	}
	var visit func(m protoreflect.Message)
	visit = func(m protoreflect.Message) {
		if _, scalar := m.Interface().(*seracv1.Scalar); scalar {
			return // its bytes are an integer
		}
		m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if field.Kind() != protoreflect.BytesKind {
				return true
			}
			if !field.IsList() {
				m.Set(field, protoreflect.ValueOfBytes([]byte{0xff}))
				try(field)
				m.Set(field, v)
				return true
			}
			for i := range v.List().Len() {
				before := v.List().Get(i)
				v.List().Set(i, protoreflect.ValueOfBytes([]byte{0xff}))
				try(field)
				v.List().Set(i, before)
			}
			return true
		})
		eachMessageIn(m, visit)
	}
	visit(inner.ProtoReflect())
}
