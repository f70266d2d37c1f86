package iceberg

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/plan"
)

// PartitionTerm is one term of PARTITIONED BY: a transform of a column. Column may be a path into structs, its parts
// joined by dots, as Iceberg names nested fields.
type PartitionTerm struct {
	Column    string
	Transform string // as the specification writes it: identity, bucket[16], truncate[4], year, month, day, hour, void
	Name      string // the partition field's name; "" for the usual one (id_bucket_16, ts_day)
}

// ParsePartitionTerm reads a term as people write it: col, "a col", s.field, year(ts) and years(ts), bucket(16, id) and
// bucket(id, 16) and bucket[16](id), truncate(4, s), void(c), each with an optional AS name.
func ParsePartitionTerm(text string) (PartitionTerm, error) {
	p := termParser{rest: text}
	term, err := p.term()
	if err != nil {
		return PartitionTerm{}, fmt.Errorf("partition term %q: %w", strings.TrimSpace(text), err)
	}
	return term, nil
}

type termParser struct{ rest string }

func (p *termParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// accept consumes one character, if it is next.
func (p *termParser) accept(c byte) bool {
	p.skip()
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// word reads an identifier, quoted or not, or a number.
func (p *termParser) word() (text string, quoted bool, err error) {
	p.skip()
	if strings.HasPrefix(p.rest, `"`) {
		var b strings.Builder
		for i := 1; i < len(p.rest); i++ {
			if p.rest[i] != '"' {
				b.WriteByte(p.rest[i])
				continue
			}
			if i+1 < len(p.rest) && p.rest[i+1] == '"' {
				b.WriteByte('"')
				i++
				continue
			}
			p.rest = p.rest[i+1:]
			return b.String(), true, nil
		}
		return "", false, fmt.Errorf("a quoted name does not end")
	}
	n := strings.IndexFunc(p.rest, func(r rune) bool { return strings.ContainsRune(" \t\r\n,.()[]<>:\"'", r) })
	if n < 0 {
		n = len(p.rest)
	}
	if n == 0 {
		return "", false, fmt.Errorf("expected a name at %q", p.rest)
	}
	text, p.rest = p.rest[:n], p.rest[n:]
	return text, false, nil
}

// path reads names joined by dots.
func (p *termParser) path() (path string, quoted bool, err error) {
	path, quoted, err = p.word()
	for err == nil && p.accept('.') {
		var next string
		next, _, err = p.word()
		path, quoted = path+"."+next, true
	}
	return path, quoted, err
}

func (p *termParser) term() (PartitionTerm, error) {
	head, quoted, err := p.path()
	if err != nil {
		return PartitionTerm{}, err
	}
	term := PartitionTerm{Column: head, Transform: "identity"}
	width := ""
	if !quoted && p.accept('[') {
		if width, _, err = p.word(); err != nil {
			return PartitionTerm{}, err
		}
		if !p.accept(']') {
			return PartitionTerm{}, fmt.Errorf("expected ]")
		}
	}
	if width != "" || !quoted && strings.HasPrefix(strings.TrimLeft(p.rest, " \t\r\n"), "(") {
		if term, err = p.call(head, width); err != nil {
			return PartitionTerm{}, err
		}
	}
	if p.skip(); p.rest != "" {
		as, _, err := p.word()
		if err != nil || !strings.EqualFold(as, "as") {
			return PartitionTerm{}, fmt.Errorf("expected nothing or AS name after the term")
		}
		if term.Name, _, err = p.word(); err != nil {
			return PartitionTerm{}, err
		}
		if p.skip(); p.rest != "" {
			return PartitionTerm{}, fmt.Errorf("unexpected %q", p.rest)
		}
	}
	return term, nil
}

// call reads (args) of a transform; width is what stood in brackets before them.
func (p *termParser) call(transform, width string) (PartitionTerm, error) {
	if !p.accept('(') {
		return PartitionTerm{}, fmt.Errorf("expected (")
	}
	column := ""
	for {
		arg, quoted, err := p.path()
		if err != nil {
			return PartitionTerm{}, err
		}
		_, convErr := strconv.Atoi(arg)
		switch {
		case convErr == nil && !quoted && width == "":
			width = arg
		case column == "":
			column = arg
		default:
			return PartitionTerm{}, fmt.Errorf("%s takes one column and at most one number", transform)
		}
		if p.accept(')') {
			break
		}
		if !p.accept(',') {
			return PartitionTerm{}, fmt.Errorf("expected , or )")
		}
	}
	if column == "" {
		return PartitionTerm{}, fmt.Errorf("%s needs a column", transform)
	}
	name := strings.ToLower(transform)
	switch name {
	case "years", "months", "days", "hours":
		name = strings.TrimSuffix(name, "s")
	case "date":
		name = "day"
	case "date_hour":
		name = "hour"
	}
	if width != "" {
		name = fmt.Sprintf("%s[%s]", name, width)
	}
	if err := checkTransform(name); err != nil {
		return PartitionTerm{}, err
	}
	return PartitionTerm{Column: column, Transform: name}, nil
}

// checkTransform refuses what this version of Serac cannot write; iceberg-go accepts unknown transforms for reading.
func checkTransform(text string) error {
	t, err := ice.ParseTransform(text)
	if err != nil {
		return err
	}
	if _, unknown := t.(ice.UnknownTransform); unknown {
		return fmt.Errorf("unknown transform %s (known: identity, bucket(n, c), truncate(w, c), year, month, day, hour, void)", text)
	}
	return nil
}

// NewPartitionSpec builds the partition spec of a new table from its terms; no terms make the unpartitioned spec. Column
// names match the schema's exactly or, when that fails, without case.
func NewPartitionSpec(s *ice.Schema, terms []PartitionTerm) (*ice.PartitionSpec, error) {
	if len(terms) == 0 {
		return ice.UnpartitionedSpec, nil
	}
	options := make([]ice.PartitionOption, 0, len(terms))
	for i, term := range terms {
		source, ok := s.FindFieldByName(term.Column)
		if !ok {
			source, ok = s.FindFieldByNameCaseInsensitive(term.Column)
		}
		if !ok {
			return nil, fmt.Errorf("partition by %s: the table has no column %s", term.Transform, term.Column)
		}
		if err := checkTransform(term.Transform); err != nil {
			return nil, fmt.Errorf("partition by %s of %s: %w", term.Transform, term.Column, err)
		}
		transform, err := ice.ParseTransform(term.Transform)
		if err != nil {
			return nil, fmt.Errorf("partition by %s of %s: %w", term.Transform, term.Column, err)
		}
		if _, nested := source.Type.(ice.NestedType); nested || !transform.CanTransform(source.Type) {
			return nil, fmt.Errorf("partition by %s of %s: the transform does not take a column of type %s", term.Transform, term.Column, source.Type)
		}
		name := term.Name
		if name == "" {
			field := ice.PartitionField{SourceIDs: []int{source.ID}, Transform: transform}
			if name, err = ice.GeneratePartitionFieldName(s, field); err != nil {
				return nil, fmt.Errorf("partition by %s of %s: %w", term.Transform, term.Column, err)
			}
			name = notInManifests.ReplaceAllString(name, "_")
		}
		id := firstPartitionFieldID + i
		options = append(options, ice.AddPartitionFieldBySourceID(source.ID, name, transform, s, &id))
	}
	spec, err := ice.NewPartitionSpecOpts(options...)
	if err != nil {
		return nil, fmt.Errorf("partition spec: %w", err)
	}
	if err := checkManifestSchema(s, spec); err != nil {
		return nil, err
	}
	return &spec, nil
}

// notInManifests is what the name of a partition field cannot have, as a field of a manifest's Avro schema: iceberg-go
// 0.7.0 writes names as they are.
var notInManifests = regexp.MustCompile(`^[^A-Za-z_]|[^A-Za-z0-9_]`)

// checkManifestSchema refuses specs whose manifests iceberg-go 0.7.0 cannot write: those with names that Avro does not
// have, and those with two decimals, whose Avro types it names alike.
func checkManifestSchema(s *ice.Schema, spec ice.PartitionSpec) error {
	decimal := ""
	for _, f := range spec.Fields() {
		if notInManifests.MatchString(f.Name) {
			return fmt.Errorf("partition field %q: a name may have letters, digits and underscores only", f.Name)
		}
		source, _ := s.FindFieldByID(f.SourceID())
		if _, ok := f.Transform.ResultType(source.Type).(ice.DecimalType); !ok {
			continue
		}
		if decimal != "" {
			return fmt.Errorf("partition by %s and %s: two decimals cannot be written to one manifest", decimal, f.Name)
		}
		decimal = f.Name
	}
	return nil
}

// firstPartitionFieldID is where partition field ids start (specification, Partition Specs).
const firstPartitionFieldID = 1000

// PartitionFields are the fields of a spec as plans carry them.
func PartitionFields(spec ice.PartitionSpec) []plan.PartitionField {
	out := make([]plan.PartitionField, 0, spec.NumFields())
	for _, f := range spec.Fields() {
		out = append(out, plan.PartitionField{
			SourceID: int32(f.SourceID()), FieldID: int32(f.FieldID), Name: f.Name, Transform: f.Transform.String(),
		})
	}
	return out
}
