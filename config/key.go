package config

import (
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// The doc comments of sections.go are the documentation of the keys; they are read from the source itself.
//
//go:embed sections.go
var sectionsSource string

// Key describes one key.
type Key struct {
	Section, Name string
	// Type is what a user writes: string, number, true or false, size, secret, list.
	Type string
	// Default in the form that a flag takes.
	Default string
	Doc     string

	index [2]int
}

// Path is the key as section.name; flags are spelled so.
func (k Key) Path() string { return k.Section + "." + k.Name }

// Env is the environment variable that sets the key.
func (k Key) Env() string {
	return envPrefix + strings.ToUpper(k.Section) + "__" + strings.ToUpper(k.Name)
}

const envPrefix = "SERAC_"

// Section describes one section.
type Section struct {
	Name, Doc string
	Keys      []Key
}

// Sections lists all sections and their keys, in the order of sections.go.
func Sections() []Section { return sections() }

var sections = sync.OnceValue(func() []Section {
	docs := fieldDocs()
	var out []Section
	root := reflect.TypeFor[Config]()
	for i := range root.NumField() {
		f := root.Field(i)
		if f.Type.Kind() != reflect.Struct {
			continue // [catalogs.NAME], whose keys are the format's own
		}
		s := Section{Name: f.Tag.Get("toml"), Doc: docs["Config."+f.Name]}
		for j := range f.Type.NumField() {
			g := f.Type.Field(j)
			s.Keys = append(s.Keys, Key{
				Section: s.Name, Name: g.Tag.Get("toml"), Type: typeName(g.Type), Default: g.Tag.Get("default"),
				Doc: docs[f.Type.Name()+"."+g.Name], index: [2]int{i, j},
			})
		}
		out = append(out, s)
	}
	return out
})

func findKey(path string) (Key, bool) {
	for _, s := range sections() {
		for _, k := range s.Keys {
			if k.Path() == path {
				return k, true
			}
		}
	}
	return Key{}, false
}

func fieldDocs() map[string]string {
	docs := map[string]string{}
	file, err := parser.ParseFile(token.NewFileSet(), "sections.go", sectionsSource, parser.ParseComments)
	if err != nil {
		panic(err) // The compiler has read the same text.
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if st, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range st.Fields.List {
				docs[spec.Name.Name+"."+f.Names[0].Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
			}
		}
		return false
	})
	return docs
}

func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Bytes]():
		return "size"
	case reflect.TypeFor[Secret]():
		return "secret"
	case reflect.TypeFor[[]string]():
		return "list"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "number"
	}
	panic("config: no key can have the type " + t.String())
}

// field is the addressable value of a key in c.
func (k Key) field(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().Field(k.index[0]).Field(k.index[1])
}

// set gives the key a value as the file has it (typed) or as the environment and flags do (text).
func (k Key) set(c *Config, value any) error {
	text, isText := value.(string)
	mismatch := fmt.Errorf("expected a %s", k.Type)
	switch f := k.field(c).Addr().Interface().(type) {
	case *string:
		if !isText {
			return mismatch
		}
		*f = text
	case *Secret:
		if !isText {
			return mismatch
		}
		*f = NewSecret(text)
	case *Bytes:
		if n, ok := value.(int64); ok {
			text = strconv.FormatInt(n, 10)
		} else if !isText {
			return mismatch
		}
		b, err := ParseBytes(text)
		if err != nil {
			return err
		}
		*f = b
	case *bool:
		if b, ok := value.(bool); ok {
			*f = b
			return nil
		}
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is not true or false", text)
		}
		*f = b
	case *[]string:
		list, err := texts(value)
		if err != nil {
			return err
		}
		*f = list
	case *int:
		n, err := integer(value)
		if err != nil {
			return err
		}
		*f = int(n)
	case *int64:
		n, err := integer(value)
		if err != nil {
			return err
		}
		*f = n
	}
	return nil
}

// texts is a list as the file has it, or texts between commas; blank ones are none.
func texts(value any) ([]string, error) {
	var list []string
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			text, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("%#v is not a string", item)
			}
			list = append(list, text)
		}
	case string:
		for text := range strings.SplitSeq(v, ",") {
			if text = strings.TrimSpace(text); text != "" {
				list = append(list, text)
			}
		}
	default:
		return nil, errors.New("expected a list of strings")
	}
	return list, nil
}

func integer(value any) (int64, error) {
	switch v := value.(type) {
	case int64:
		return v, nil
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%#v is not a whole number", value)
}
