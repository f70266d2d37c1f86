package bind

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/seracdb/serac/internal/fileaccess"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
)

// readers puts a reference in the place of each call of a function that reads files. From then on the call is a table: DuckDB
// binds the statement over a stub with the columns that it found in the files, and the plan has a leaf that one task reads.
func (b *binding) readers(ctx context.Context) error {
	if !b.files.On() {
		return nil // refused has looked for them
	}
	var nodes []map[string]any
	visit(b.tree.tree, func(node map[string]any) {
		if name, ok := tableFunctionOf(node); ok && fileaccess.KindOf(name) == fileaccess.Reader {
			nodes = append(nodes, node)
		}
	}, nil)
	prefix := ""
	for i, node := range nodes {
		name, _ := tableFunctionOf(node)
		if node["with_ordinality"] == "WITH_ORDINALITY" {
			return &Error{Message: name + "() WITH ORDINALITY is not supported"}
		}
		args, named, err := b.arguments(ctx, name, node["function"].(map[string]any)["children"])
		if err != nil {
			return err
		}
		t, err := b.call(ctx, name, args, named)
		if err != nil {
			return err
		}
		if prefix == "" {
			prefix = unusedPrefix(b.tree.tree) + "file_"
		}
		reference := fmt.Sprintf("%s%d", prefix, i)
		alias, _ := node["alias"].(string)
		if alias == "" {
			alias = name
		}
		delete(node, "function")
		delete(node, "with_ordinality")
		node["type"], node["alias"] = "BASE_TABLE", alias
		node["catalog_name"], node["schema_name"], node["table_name"], node["at_clause"] = "", "", reference, nil
		b.calls[Ref{Parts: []string{reference}}.key()] = t
		b.changed = true
	}
	return nil
}

// namedFile is the call that a name after FROM stands for when there is no table of that name, as DuckDB has it, or else
// the error that there is none.
func (b *binding) namedFile(ctx context.Context, ref Ref, missing error) (*Table, error) {
	path := strings.Join(ref.Parts, ".")
	function, alias, ok := fileaccess.Replacement(path)
	switch {
	case !ok:
		return nil, missing
	case fileaccess.KindOf(function) == fileaccess.Refused:
		return nil, &Error{Message: fmt.Sprintf("%v, and as a file it would need %s(), which is not supported: %s", missing, function, fileaccess.Why(function))}
	case !b.files.On():
		return nil, &Error{Message: fmt.Sprintf("%v; as a file: %v", missing, fileaccess.Off(function))}
	}
	t, err := b.call(ctx, function, []*plan.Constant{{Value: path, Of: plan.T(plan.Varchar)}}, nil)
	var fault *Error
	if errors.As(err, &fault) {
		return nil, &Error{Message: fmt.Sprintf("%v; as a file: %v", missing, fault)}
	}
	if err != nil {
		return nil, err
	}
	for _, n := range b.nodes {
		if given, _ := n.node["alias"].(string); given == "" && n.ref.key() == ref.key() {
			n.node["alias"] = alias
		}
	}
	return t, nil
}

// arguments computes a call's arguments, which must be constants.
func (b *binding) arguments(ctx context.Context, function string, children any) (args []*plan.Constant, named []plan.NamedArg, err error) {
	list, _ := children.([]any)
	for i, child := range list {
		node, ok := child.(map[string]any)
		if !ok {
			return nil, nil, fmt.Errorf("argument %d of %s is no expression", i+1, function)
		}
		name, value := namedArgument(node)
		what := fmt.Sprintf("argument %d of %s()", i+1, function)
		if name != "" {
			what = fmt.Sprintf("argument %s of %s()", name, function)
			if why := fileaccess.RefusedOption(name); why != "" {
				return nil, nil, &Error{Message: fmt.Sprintf("%s is not supported: %s", what, why)}
			}
		}
		c, err := b.constant(ctx, value, what)
		if err != nil {
			return nil, nil, err
		}
		if name == "" {
			args = append(args, c)
		} else {
			named = append(named, plan.NamedArg{Name: name, Value: c})
		}
	}
	return args, named, nil
}

// namedArgument takes name := value, name => value and name = value apart; the name is "" for an argument without one.
func namedArgument(node map[string]any) (name string, value any) {
	if alias, _ := node["alias"].(string); alias != "" {
		node["alias"] = ""
		return alias, node
	}
	left, _ := node["left"].(map[string]any)
	parts, _ := left["column_names"].([]any)
	if node["type"] == "COMPARE_EQUAL" && left["class"] == "COLUMN_REF" && len(parts) == 1 {
		if name, ok := parts[0].(string); ok {
			return name, node["right"]
		}
	}
	return "", node
}

// constant computes an expression of constants, parameters and the clock's functions.
func (b *binding) constant(ctx context.Context, expr any, what string) (*plan.Constant, error) {
	refuse := what + " must be a constant"
	if len(b.req.Params) == 0 && hasParameter(expr) {
		return nil, &Error{Message: what + " is a parameter without a value, and the columns depend on it"}
	}
	text, err := b.constantText(ctx, expr, refuse)
	if err != nil {
		return nil, err
	}
	doc, err := b.plan(ctx, "SELECT "+text, true)
	if err != nil {
		return nil, err
	}
	n, err := (&importer{optimised: true}).read(doc)
	var fault *serializeError
	if errors.As(err, &fault) {
		return nil, &Error{Message: refuse + ": " + firstLine(fault.message)}
	}
	if err != nil {
		return nil, &Error{Message: what + ": " + err.Error()}
	}
	if project, ok := n.(*plan.Project); ok && len(project.Exprs) == 1 {
		if c, ok := project.Exprs[0].(*plan.Constant); ok {
			return c, nil
		}
	}
	return nil, &Error{Message: refuse}
}

// bytesPerRow guesses how many rows files have.
const bytesPerRow = 64

// call checks the paths of a call and asks DuckDB for its columns.
func (b *binding) call(ctx context.Context, function string, args []*plan.Constant, named []plan.NamedArg) (*Table, error) {
	if len(args) == 0 {
		return nil, &Error{Message: function + "() needs a path"}
	}
	paths, err := b.files.Check(function, args[0].Value, func(pattern string, limit int) ([]string, error) {
		return b.conn.Glob(ctx, pattern, limit)
	})
	if err != nil {
		return nil, &Error{Message: function + "(): " + err.Error()}
	}
	args[0] = &plan.Constant{Value: paths.Value, Of: args[0].Of}
	n := &plan.TableFunction{Name: function, NamedArgs: named}
	for _, a := range args {
		n.Args = append(n.Args, a)
	}
	text, err := render.ReaderCall(n, paths.Argument)
	if err != nil {
		return nil, &Error{Message: function + "(): " + err.Error()}
	}
	names, types, _, err := b.conn.Describe(ctx, "SELECT * FROM "+text)
	if err != nil {
		return nil, statementError(err)
	}
	t := &Table{Name: function, Call: n, Rows: 1}
	for _, f := range paths.Files {
		if info, err := os.Stat(f); err == nil {
			t.Bytes += info.Size()
		}
	}
	t.Rows = max(t.Bytes/bytesPerRow, 1)
	// Two calls with other columns are two stubs, and so are those of a file that has changed.
	mark := sha256.New()
	fmt.Fprintln(mark, text)
	for i, name := range names {
		of, err := plan.ParseType(types[i])
		if err != nil {
			return nil, &Error{Message: fmt.Sprintf("%s(): column %s: %v", function, name, err)}
		}
		t.Columns = append(t.Columns, plan.ScanColumn{FieldID: int32(i + 1), Name: name, Type: of, Nullable: true})
		fmt.Fprintf(mark, "%q %s\n", name, types[i])
	}
	t.Key = function + "@" + hex.EncodeToString(mark.Sum(nil))
	return t, nil
}

// call is the leaf that makes columns of the call's rows.
func (t *Table) call(leaf plan.LeafID, columns []plan.ScanColumn) plan.Node {
	n := *t.Call
	n.Leaf = leaf
	for _, c := range t.Columns {
		n.Out = append(n.Out, plan.Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable})
	}
	project := &plan.Project{Input: &n}
	whole := len(columns) == len(t.Columns)
	for i, c := range columns {
		at := int(c.FieldID) - 1
		whole = whole && at == i
		project.Exprs = append(project.Exprs, &plan.ColumnRef{Index: at, Of: c.Type})
		project.Names = append(project.Names, c.Name)
	}
	if whole {
		return &n
	}
	return project
}
