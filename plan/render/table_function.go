package render

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

// tableFunction writes a call in FROM. With an input it is a lateral call per input row.
func (w *writer) tableFunction(n *plan.TableFunction) (string, error) {
	if n.Input == nil {
		if sql, err := w.assigned(n); sql != "" || err != nil {
			return sql, err
		}
		args, err := w.callArguments(n)
		if err != nil {
			return "", err
		}
		call, cols := w.callInFrom(n.Name, args, len(n.Out))
		return selectFrom(cols, call), nil
	}
	in, err := w.input(n.Input)
	if err != nil {
		return "", err
	}
	if n.InputArgs > len(in.cols) {
		return "", fmt.Errorf("%d arguments from %d columns", n.InputArgs, len(in.cols))
	}
	call, cols := w.callInFrom(n.Name, in.cols[:n.InputArgs], len(n.Out)-len(n.Kept))
	kept, err := pick(in.cols, n.Kept)
	if err != nil {
		return "", err
	}
	return selectFrom(append(cols, kept...), in.from+", LATERAL "+call), nil
}

// ReaderCall writes the call of a leaf that reads files, as it stands after FROM, without an alias. paths, a text or a list of
// texts ([]any), stands in the place of its first argument.
func ReaderCall(n *plan.TableFunction, paths any) (string, error) {
	first := &plan.Constant{Value: paths, Of: plan.T(plan.Varchar)}
	if _, ok := paths.([]any); ok {
		first.Of = plan.ListType(first.Of)
	}
	call := *n
	call.Args = append([]plan.Expr{first}, n.Args[1:]...)
	args, err := (&writer{}).callArguments(&call)
	return plan.QuoteIdent(n.Name) + "(" + strings.Join(args, ", ") + ")", err
}

// callArguments writes the arguments of a leaf.
func (w *writer) callArguments(n *plan.TableFunction) ([]string, error) {
	args, err := w.exprs(n.Args, nil)
	if err != nil {
		return nil, err
	}
	for _, a := range n.NamedArgs {
		text, err := w.expr(a.Value, nil)
		if err != nil {
			return nil, err
		}
		args = append(args, plan.QuoteIdent(a.Name)+" := "+text)
	}
	return args, nil
}

// callInFrom is the call under an alias, and its columns, which get names of their own by position.
func (w *writer) callInFrom(name string, args []string, n int) (from string, cols []string) {
	alias := w.name("f")
	names := make([]string, n)
	cols = make([]string, n)
	for i := range cols {
		names[i] = column(i)
		cols[i] = alias + "." + column(i)
	}
	return plan.QuoteIdent(name) + "(" + strings.Join(args, ", ") + ") AS " + alias + "(" + strings.Join(names, ", ") + ")", cols
}
