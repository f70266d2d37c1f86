package bind

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/internal/fileaccess"
	"github.com/seracdb/serac/plan"
)

// Binder binds queries on a pool of planner databases. It is safe for concurrent use.
type Binder struct {
	// Files is what statements may read by functions that read files. It is set before the first statement.
	Files fileaccess.Policy

	slots chan struct{} // one for each statement that is being bound
	mu    sync.Mutex
	// idle are planners that are open and not in use. The last is taken first, so that none is opened while one is idle.
	idle []*planner
	// skipOptimised starts the ladder at its second rung, for tests of that.
	skipOptimised bool
}

// New makes a Binder that binds up to size statements at once. The databases open when they are first needed. Close it.
func New(size int) *Binder {
	return &Binder{slots: make(chan struct{}, max(size, 1))}
}

// Close waits for running statements and closes the databases.
func (b *Binder) Close() error {
	for range cap(b.slots) {
		b.slots <- struct{}{}
	}
	var err error
	for _, p := range b.idle {
		err = errors.Join(err, p.close())
	}
	b.idle = nil
	return err
}

// use runs f on a planner of the pool. A planner on which clean-up failed is thrown away.
func (b *Binder) use(ctx context.Context, f func(*planner) error) (err error) {
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-b.slots }()
	p := b.take()
	if p == nil {
		if p, err = newPlanner(context.WithoutCancel(ctx), b.Files); err != nil {
			return fmt.Errorf("open the planner's database: %w", err)
		}
	}
	keep := false
	defer func() {
		if keep {
			b.put(p)
			return
		}
		// A new database next time: this one is not what it was.
		err = errors.Join(err, p.close())
	}()
	err = f(p)
	keep = p.end(context.WithoutCancel(ctx)) == nil && !duckdb.IsInternal(err)
	return err
}

func (b *Binder) put(p *planner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, p)
}

// take is an idle planner, nil where there is none.
func (b *Binder) take() *planner {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.idle) - 1
	if last < 0 {
		return nil
	}
	p := b.idle[last]
	b.idle = b.idle[:last]
	return p
}

// References are all references to base tables in a query, each once.
func (b *Binder) References(ctx context.Context, sql string) ([]Ref, error) {
	var out []Ref
	err := b.use(ctx, func(p *planner) error {
		tree, err := p.syntaxTree(ctx, sql)
		if err != nil {
			return statementError(err)
		}
		out = distinct(tree.tables())
		return nil
	})
	return out, err
}

// Bind binds a query. A fault of the statement is an *Error, a table that is not there the Resolver's error.
func (b *Binder) Bind(ctx context.Context, req Request) (*Bound, error) {
	var out *Bound
	err := b.use(ctx, func(p *planner) error {
		var err error
		out, err = p.bind(ctx, req, b.skipOptimised)
		return err
	})
	return out, err
}

// binding is one statement on its way through a planner.
type binding struct {
	*planner
	req    Request
	tree   *statement
	nodes  []tableNode
	tables map[string]*Table // by reference
	byKey  map[string]*Table // by the names of the stubs
	calls  map[string]*Table // calls of functions that read files, by the references that stand for them
	// changed says that tree no longer is what the request's text says.
	changed bool
	text    string // what is bound: the request's text, or the rewritten one
	params  int    // of the request's text
	// rewritten is the text over generated names, nil with rewriteErr where it cannot be written.
	rewritten  *rewritten
	rewriteErr error
}

// resolve parses a request and finds its tables, as they were where the statement says so. Then text can be prepared, unless
// mustRewrite.
func (p *planner) resolve(ctx context.Context, req Request) (b *binding, tables []*Table, err error) {
	tree, err := p.syntaxTree(ctx, req.SQL)
	if err != nil {
		return nil, nil, statementError(err)
	}
	b = &binding{
		planner: p, req: req, tree: tree, tables: map[string]*Table{}, byKey: map[string]*Table{}, text: req.SQL,
		params: tree.params(), calls: map[string]*Table{},
	}
	if err := p.begin(ctx, req); err != nil {
		return nil, nil, err
	}
	// The text of query() is computed, so nothing that is refused may be in it; and nothing may come of it.
	if err := tree.refused(p.files.On()); err != nil {
		return nil, nil, err
	}
	if err := b.texts(ctx); err != nil {
		return nil, nil, err
	}
	if b.changed {
		if err := tree.refused(p.files.On()); err != nil {
			return nil, nil, err
		}
	}
	if err := b.readers(ctx); err != nil {
		return nil, nil, err
	}
	b.nodes = tree.tables()
	if err := b.timeTravel(ctx); err != nil {
		return nil, nil, err
	}
	if tables, err = b.findTables(ctx); err != nil {
		return nil, nil, err
	}
	return b, tables, nil
}

// bindRewritten rewrites a statement that cannot be bound as it stands.
func (b *binding) bindRewritten(ctx context.Context) error {
	if b.rewritten, b.rewriteErr = b.rewrite(ctx); b.rewriteErr != nil {
		return b.rewriteErr
	}
	if err := b.generatedViews(ctx); err != nil {
		return err
	}
	b.text = b.rewritten.sql
	return nil
}

func (p *planner) bind(ctx context.Context, req Request, skipOptimised bool) (*Bound, error) {
	b, tables, err := p.resolve(ctx, req)
	if err != nil {
		return nil, err
	}
	out := &Bound{Params: b.params, Tables: tables, Refs: distinct(b.nodes)}
	if b.mustRewrite() {
		if err := b.bindRewritten(ctx); err != nil {
			return nil, err
		}
		err = b.describe(ctx, out)
	} else {
		var described errgroup.Group
		described.Go(func() error { return b.describe(ctx, out) })
		b.rewritten, b.rewriteErr = b.rewrite(ctx)
		err = described.Wait()
	}
	if err != nil {
		return nil, err
	}
	out.Repeatable = b.repeatable()
	if b.rewritten == nil || req.TextOnly == nil || b.tree.limitInside() || !req.TextOnly(tables) {
		if err := b.ladder(ctx, out, skipOptimised); err != nil {
			return nil, err
		}
	}
	b.whole(out, b.rewritten, b.rewriteErr)
	if out.Plan == nil && out.Whole == nil {
		return nil, &Error{Message: "the statement cannot be planned: " + out.Reason}
	}
	return out, nil
}

// findTables resolves the tables that the statement names, once each, and puts views where its names look for them.
func (b *binding) findTables(ctx context.Context) ([]*Table, error) {
	refs := distinct(b.nodes)
	out, errs := b.resolveAll(ctx, refs)
	for i, ref := range refs {
		t, err := out[i], errs[i]
		var missing *NotFoundError
		if errors.As(err, &missing) && ref.At == nil {
			t, err = b.namedFile(ctx, ref, err)
		}
		if err != nil {
			return nil, err
		}
		b.tables[ref.key()] = t
		b.byKey[t.stub()] = t
		out[i] = t
	}
	b.serve(b.byKey)
	return out, b.views(ctx)
}

// maxResolving bounds the tables of one statement that are resolved at once.
const maxResolving = 8

// resolveAll finds what references stand for, all at the same time: each a table or an error.
func (b *binding) resolveAll(ctx context.Context, refs []Ref) ([]*Table, []error) {
	tables, errs := make([]*Table, len(refs)), make([]error, len(refs))
	var g errgroup.Group
	g.SetLimit(maxResolving)
	for i, ref := range refs {
		if t, ok := b.calls[ref.key()]; ok {
			tables[i] = t
			continue
		}
		g.Go(func() error {
			tables[i], errs[i] = b.req.Resolve(ctx, ref)
			return nil
		})
	}
	_ = g.Wait() // errs has them
	return tables, errs
}

// views puts views where the statement's names look for them.
func (b *binding) views(ctx context.Context) error {
	for _, n := range b.nodes {
		if b.unnameable(n.ref) {
			continue
		}
		parts := n.ref.Parts
		catalog, schema, name := b.req.Catalog, b.req.Schema, parts[len(parts)-1]
		if len(parts) > 1 {
			schema = parts[len(parts)-2]
		}
		if len(parts) > 2 {
			catalog = parts[len(parts)-3]
		}
		if err := b.view(ctx, catalog, schema, name, b.tables[n.ref.key()].stub()); err != nil {
			return err
		}
	}
	return nil
}

// describe finds the result's columns.
func (b *binding) describe(ctx context.Context, out *Bound) error {
	names, types, schema, err := b.side.Describe(ctx, b.text)
	if err != nil {
		return statementError(err)
	}
	out.Arrow = schema
	for i, name := range names {
		t, err := plan.ParseType(types[i])
		if err != nil {
			return fmt.Errorf("result column %s: %w", name, err)
		}
		out.Columns = append(out.Columns, plan.Column{Name: name, Type: t, Nullable: true})
	}
	return nil
}

// ladder takes the first rung on which the plan can be expressed.
func (b *binding) ladder(ctx context.Context, out *Bound, skipOptimised bool) error {
	var n plan.Node
	var err error = &unsupportedError{"not tried"}
	if !skipOptimised {
		n, err = b.importPlan(ctx, b.text, true, out.Columns)
	}
	if err == nil {
		out.Plan = n
		return nil
	}
	reason, ok := unsupported(err)
	if !ok {
		return err
	}
	out.Reason = "optimised plan: " + reason
	if b.rewritten == nil {
		return nil
	}
	if err := b.generatedViews(ctx); err != nil {
		return err
	}
	n, err = b.importPlan(ctx, b.rewritten.sql, false, out.Columns)
	if err == nil {
		out.Plan = n
		return nil
	}
	if reason, ok = unsupported(err); !ok {
		return err
	}
	out.Reason += "; plan as bound: " + reason
	return nil
}

func (b *binding) importPlan(ctx context.Context, sql string, optimise bool, want plan.Schema) (plan.Node, error) {
	text, err := b.plan(ctx, sql, optimise)
	if err != nil {
		return nil, err
	}
	im := &importer{tables: b.byKey, optimised: optimise}
	n, err := im.read(text)
	if err != nil {
		return nil, err
	}
	if err := sameTypes(n.Schema(), want); err != nil {
		return nil, err
	}
	return prunable(plan.PruneColumns(n))
}

// sameTypes guards against a plan that says something else than DESCRIBE did.
func sameTypes(got, want plan.Schema) error {
	if len(got) != len(want) {
		return &unsupportedError{fmt.Sprintf("%d columns where the statement has %d", len(got), len(want))}
	}
	for i := range got {
		if !got[i].Type.Equal(want[i].Type) {
			return &unsupportedError{fmt.Sprintf("column %s has type %s where the statement has %s", want[i].Name, got[i].Type, want[i].Type)}
		}
	}
	return nil
}

// unsupported is why an error sends the statement to the next rung; false for an error that ends it.
func unsupported(err error) (string, bool) {
	var u *unsupportedError
	if errors.As(err, &u) {
		return u.what, true
	}
	var s *serializeError
	if errors.As(err, &s) {
		return firstLine(s.message), true
	}
	if isStatementFault(err) {
		return firstLine(err.Error()), true
	}
	return "", false
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
