package substrait

import (
	"fmt"
	"strings"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

const (
	// maxPlan is the largest plan in bytes.
	maxPlan = 16 << 20
	// maxText is the longest query text in bytes.
	maxText = 8 << 20
	// maxDepth is how deep relations and expressions together may nest.
	maxDepth = 400
	// maxNesting bounds protobuf's recursion: one level of a plan takes up to six messages.
	maxNesting = 6 * maxDepth
	// maxColumns is how many columns a relation may have.
	maxColumns = 10_000
)

// SQL is a serialised substrait.Plan as the text of one query. Its dynamic parameters are the text's parameters, $1 being
// the one of reference 0.
func SQL(b []byte) (string, error) {
	text, err := translate(b)
	if err != nil {
		return "", wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, fmt.Errorf("substrait plan: %w", err))
	}
	return text, nil
}

func translate(b []byte) (string, error) {
	if len(b) > maxPlan {
		return "", fmt.Errorf("it has %d bytes, at most %d are read", len(b), maxPlan)
	}
	p := &pb.Plan{}
	if err := (proto.UnmarshalOptions{RecursionLimit: maxNesting}).Unmarshal(b, p); err != nil {
		return "", fmt.Errorf("it is no substrait.Plan: %w", err)
	}
	if p.GetAdvancedExtensions().GetEnhancement() != nil {
		return "", fmt.Errorf("it has an enhancement, %s, that is not known", p.GetAdvancedExtensions().GetEnhancement().GetTypeUrl())
	}
	declared, err := readDeclarations(p)
	if err != nil {
		return "", err
	}
	t := &translator{declarations: declared, plan: p, shared: map[int32]*sharedRelation{}}
	return t.root()
}

// translator reads one plan.
type translator struct {
	declarations
	plan    *pb.Plan
	depth   int
	aliases int
	// scopes are what expressions refer to, the innermost last.
	scopes []scope
	// shared are the relations that the plan's ReferenceRels refer to, which become common table expressions.
	shared map[int32]*sharedRelation
	ctes   []string
}

// sharedRelation is a relation that several others refer to.
type sharedRelation struct {
	name    string
	columns []column
	done    bool // false while it is being read: it must not refer to itself
}

// enter counts a level of nesting; leave ends it.
func (t *translator) enter() error {
	if t.depth >= maxDepth {
		return fmt.Errorf("it nests deeper than %d levels", maxDepth)
	}
	t.depth++
	return nil
}

func (t *translator) leave() { t.depth-- }

func (t *translator) alias() string {
	t.aliases++
	return fmt.Sprintf("r%d", t.aliases)
}

func (t *translator) root() (string, error) {
	var root *pb.PlanRel
	for _, r := range t.plan.GetRelations() {
		if r.GetRoot() == nil && len(t.plan.GetRelations()) > 1 {
			continue // for ReferenceRels
		}
		if root != nil {
			return "", fmt.Errorf("it has several roots")
		}
		root = r
	}
	if root == nil {
		return "", fmt.Errorf("it has no root")
	}
	rel, names := root.GetRel(), []string(nil)
	if r := root.GetRoot(); r != nil {
		rel, names = r.GetInput(), r.GetNames()
	}
	q, err := t.relation(rel)
	if err != nil {
		return "", err
	}
	if len(q.columns) == 0 {
		return "", fmt.Errorf("its result has no columns")
	}
	if names, err = outputNames(q.columns, names); err != nil {
		return "", err
	}
	text, err := q.text(func(i int) string { return plan.QuoteIdent(names[i]) })
	if err != nil {
		return "", err
	}
	if len(t.ctes) > 0 {
		text = "WITH " + strings.Join(t.ctes, ", ") + " " + text
	}
	if len(text) > maxText {
		return "", errTooLong
	}
	return text, nil
}

// outputNames are the columns' own names among a root's, which go on into structs, depth first.
func outputNames(columns []column, names []string) ([]string, error) {
	if len(names) == 0 {
		out := make([]string, len(columns))
		for i := range columns {
			out[i] = fmt.Sprintf("c%d", i)
		}
		return out, nil
	}
	var out []string
	at := 0
	for _, c := range columns {
		if at >= len(names) {
			break
		}
		out = append(out, names[at])
		at += 1 + innerNames(c.of)
	}
	if len(out) != len(columns) {
		return nil, fmt.Errorf("its root has %d names for %d columns", len(names), len(columns))
	}
	return out, nil
}

// innerNames is how many names the structs in a type take. Serac's own struct types name their fields themselves.
func innerNames(t plan.Type) int {
	n := 0
	for _, f := range t.Fields {
		if f.Name == "" {
			n += 1 + innerNames(f.Type)
		}
	}
	if t.Elem != nil {
		n += innerNames(*t.Elem)
	}
	if t.Key != nil {
		n += innerNames(*t.Key)
	}
	return n
}
