package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

// mark is a secret that is told from any other text.
const mark = "conformance-mark-5f1c9e"

// secrets puts a marked secret into the tables and into what the plan hides, and looks for it in all that people see.
func (s *suite) secrets(c Case) error {
	marked := marking(c.Node)
	var tables []*wire.Table
	for _, t := range s.tables(c) {
		hidden := *t
		hidden.FileIO = t.FileIO.With(map[string]string{"s3.secret-access-key": mark})
		tables = append(tables, &hidden)
	}
	texts := &printed{secrets: append([]string{mark}, c.Secrets...)}
	texts.add("the explain text", plan.Explain(marked))
	texts.parts("the plan", reflect.ValueOf(&marked).Elem())
	b, err := s.encode(marked, tables)
	if err != nil {
		texts.add("an error of encoding", err.Error())
		return texts.errorOr(fmt.Errorf("encode with another secret: %w", err))
	}
	texts.add("the bytes", string(b))
	f, err := s.decode(b)
	if err != nil {
		texts.add("an error of decoding", err.Error())
		return texts.errorOr(fmt.Errorf("decode with another secret: %w", err))
	}
	if err := equal(marked, f.Root); err != nil {
		return fmt.Errorf("the secret did not survive: %w", err)
	}
	texts.add("the decoded plan's explain text", plan.Explain(f.Root))
	texts.parts("the decoded plan", reflect.ValueOf(&f.Root).Elem())
	for _, table := range f.Tables {
		texts.formats("a decoded table", table)
	}
	// What goes wrong says what, and not with which secret.
	if _, err := s.encode(&plan.Project{Input: marked, Exprs: []plan.Expr{&plan.ColumnRef{Index: 1 << 20, Of: plan.T(plan.BigInt)}}}, tables); err != nil {
		texts.add("an error of encoding", err.Error())
	}
	if _, err := s.encode(marked, nil); err != nil {
		texts.add("an error of encoding", err.Error())
	}
	for at := 0; at < len(b); at += 1 + len(b)/50 {
		for _, damaged := range [][]byte{b[:at], flip(b, at)} {
			if _, err := s.decode(damaged); err != nil {
				texts.add("an error of decoding", err.Error())
			}
		}
	}
	return texts.errorOr(nil)
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0x10
	return b
}

// marking is a copy of a plan with the mark in everything that is a secret by its type.
func marking(n plan.Node) plan.Node {
	root := reflect.New(reflect.TypeFor[plan.Node]()).Elem()
	root.Set(reflect.ValueOf(clone(n)))
	markSecrets(root)
	return root.Interface().(plan.Node)
}

func markSecrets(v reflect.Value) {
	switch v.Type() {
	case typeOfSecret:
		if s := v.Interface().(wire.Secret); !s.Empty() {
			v.Set(reflect.ValueOf(wire.NewSecret(mark)))
		}
		return
	case typeOfFileIO:
		f := v.Interface().(wire.FileIO)
		for _, name := range f.Names() {
			f = f.With(map[string]string{name: mark})
		}
		v.Set(reflect.ValueOf(f))
		return
	case typeOfBig:
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			markSecrets(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			inner := reflect.New(v.Elem().Type()).Elem()
			inner.Set(v.Elem())
			markSecrets(inner)
			v.Set(inner)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			markSecrets(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			inner := reflect.New(v.Type().Elem()).Elem()
			inner.Set(v.MapIndex(key))
			markSecrets(inner)
			v.SetMapIndex(key, inner)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				markSecrets(v.Field(i))
			}
		}
	}
}

// printed collects what people see, and remembers where a secret was.
type printed struct {
	secrets []string
	found   []string
}

func (p *printed) add(where, text string) {
	for _, secret := range p.secrets {
		if strings.Contains(text, secret) {
			p.found = append(p.found, where)
			return
		}
	}
}

// formats prints a value in every way that a log or an error would.
func (p *printed) formats(what string, v any) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		p.add(what+" by "+verb, fmt.Sprintf(verb, v))
	}
	if b, err := json.Marshal(v); err == nil {
		p.add(what+" as JSON", string(b))
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("", "v", v)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("", "v", v)
	p.add(what+" in a log", log.String())
}

// parts prints what pointers point to, each for itself: fmt prints but the address of those below the first.
func (p *printed) parts(what string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if v.CanInterface() {
			p.formats(fmt.Sprintf("%s's %s", what, v.Type()), v.Interface())
		}
		p.parts(what, v.Elem())
	case reflect.Interface:
		if !v.IsNil() {
			if v.Elem().Kind() != reflect.Pointer {
				p.formats(fmt.Sprintf("%s's %s", what, v.Elem().Type()), v.Elem().Interface())
			}
			p.parts(what, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			p.parts(what, v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			p.parts(what, v.MapIndex(key))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				p.parts(what, v.Field(i))
			}
		}
	}
}

// errorOr is where a secret was found, or err.
func (p *printed) errorOr(err error) error {
	if len(p.found) == 0 {
		return err
	}
	return fmt.Errorf("a secret prints: in %s", p.found[0])
}
