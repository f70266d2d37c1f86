package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/read"
	"github.com/seracdb/serac/iceberg/write"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/admission"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/cluster"
	"github.com/seracdb/serac/scheduler/engine"
	"github.com/seracdb/serac/scheduler/sql"
	"github.com/seracdb/serac/wire"
)

func (st *statement) insert(ctx context.Context, p *sql.Insert) (engine.Execution, error) {
	return st.background(ctx, false, countSchema, func(ctx context.Context, e *taskExecution) (rows, int64, error) {
		if err := st.room(); err != nil {
			return nil, 0, err
		}
		prepared, err := st.planInsert(ctx, p)
		if err != nil {
			return nil, 0, err
		}
		place, err := e.enter(ctx, st)
		if err != nil {
			return nil, 0, err
		}
		defer place.Leave()
		n, err := st.runInsert(ctx, e, place, prepared)
		return nil, n, err
	}), nil
}

// runInsert runs a planned INSERT that has its place.
func (st *statement) runInsert(ctx context.Context, e *taskExecution, place *admission.Place, w *preparedWrite) (int64, error) {
	return st.journaled(w.table, false, func() (int64, error) { return st.runWrite(ctx, e, place, w) })
}

// preparedWrite is a write that is planned and not yet run.
type preparedWrite struct {
	table   *catalog.Table
	planned *planned
}

// planInsert turns INSERT into a query of the table's columns in schema order, under a write.
func (st *statement) planInsert(ctx context.Context, p *sql.Insert) (*preparedWrite, error) {
	if p.Overwrite {
		return nil, statementError("INSERT OVERWRITE is not supported yet")
	}
	t, err := st.table(ctx, p.Table)
	if err != nil {
		return nil, err
	}
	text := p.Query
	if p.DefaultValues {
		text = "SELECT"
	}
	var source []string
	if !p.DefaultValues {
		shape, err := st.bind(ctx, text)
		if err != nil {
			return nil, err
		}
		source = shape.Columns.Names()
	}
	targets, err := insertTargets(t, p, source)
	if err != nil {
		return nil, err
	}
	defaults, err := writeDefaults(t, targets)
	if err != nil {
		return nil, err
	}
	return st.planWrite(ctx, t, sourceSelect(t.Columns(), targets, defaults, text, len(source)))
}

// writeDefaults are, by position, SQL for the values of the columns that an INSERT leaves out and whose rows have another
// default than NULL (format version 3).
func writeDefaults(t *catalog.Table, targets []int) (map[int]string, error) {
	fields, err := iceberg.Fields(t.Schema())
	if err != nil {
		return nil, err
	}
	defaults := map[int]string{}
	for i, f := range fields {
		if f.Default == nil || slices.Contains(targets, i) {
			continue
		}
		if defaults[i], err = read.DefaultSQL(f.Iceberg, f.Default); err != nil {
			return nil, statementError("the default value of column %q: %w", f.Name, err)
		}
	}
	return defaults, nil
}

// insertTargets says for each source column which of the table's columns it goes to.
func insertTargets(t *catalog.Table, p *sql.Insert, source []string) ([]int, error) {
	columns := t.Columns()
	find := func(name string) (int, error) {
		for i, c := range columns {
			if strings.EqualFold(c.Name, name) {
				return i, nil
			}
		}
		return 0, statementError("table %s has no column %q", p.Table, name)
	}
	names := p.Columns
	if p.ByName {
		names = source
	}
	var targets []int
	if names == nil {
		if p.DefaultValues {
			return nil, nil
		}
		if len(source) != len(columns) {
			return nil, statementError("table %s has %d columns, and the query gives %d", p.Table, len(columns), len(source))
		}
		for i := range columns {
			targets = append(targets, i)
		}
		return targets, nil
	}
	seen := map[int]bool{}
	for _, name := range names {
		i, err := find(name)
		if err != nil {
			return nil, err
		}
		if seen[i] {
			return nil, statementError("column %q is named twice", name)
		}
		seen[i] = true
		targets = append(targets, i)
	}
	if len(source) != len(targets) {
		return nil, statementError("INSERT names %d columns, and the query gives %d", len(targets), len(source))
	}
	return targets, nil
}

// sourceSelect is the query of a write: each of the table's columns cast to its type; where the statement gives none, its
// default, or NULL.
func sourceSelect(columns []plan.ScanColumn, targets []int, defaults map[int]string, text string, width int) string {
	from := make([]int, len(columns))
	for i := range from {
		from[i] = -1
	}
	for source, target := range targets {
		from[target] = source
	}
	exprs := make([]string, len(columns))
	for i, c := range columns {
		value := "NULL"
		if from[i] >= 0 {
			value = fmt.Sprintf("s.c%d", from[i])
		} else if text, ok := defaults[i]; ok {
			value = text
		}
		exprs[i] = fmt.Sprintf("CAST(%s AS %s) AS %s", value, c.Type.SQL(), plan.QuoteIdent(c.Name))
	}
	if width == 0 {
		return "SELECT " + strings.Join(exprs, ", ")
	}
	aliases := make([]string, width)
	for i := range aliases {
		aliases[i] = fmt.Sprintf("c%d", i)
	}
	// The newlines keep a comment at the text's end from swallowing the parenthesis.
	return "SELECT " + strings.Join(exprs, ", ") + " FROM (\n" + text + "\n) AS s(" + strings.Join(aliases, ", ") + ")"
}

// planWrite plans a query whose columns are the table's.
func (st *statement) planWrite(ctx context.Context, t *catalog.Table, text string) (*preparedWrite, error) {
	bound, err := st.bind(ctx, text)
	if err != nil {
		return nil, err
	}
	root, err := writeRoot(t)
	if err != nil {
		return nil, err
	}
	p, err := st.plan(ctx, bound, func(n plan.Node) plan.Node { w := *root; w.Input = n; return &w })
	if err != nil {
		return nil, err
	}
	return &preparedWrite{table: t, planned: p}, nil
}

func writeRoot(t *catalog.Table) (*plan.IcebergWrite, error) {
	spec := t.Spec()
	w := &plan.IcebergWrite{
		TableKey: tableKey(t), Columns: t.Columns(), SpecID: int32(spec.ID()), Partition: t.PartitionFields(),
	}
	var err error
	if w.Clustering, err = write.PartitionExprs(w.Columns, w.Partition, t.Schema()); err != nil {
		return nil, fmt.Errorf("partition values of %s: %w", w.TableKey, err)
	}
	return w, nil
}

// cleanupTimeout bounds the deletion of files that no commit will name.
const cleanupTimeout = time.Minute

// runWrite runs a planned write and commits what it wrote, once: the statement's id is the commit's (rule 23). Files that
// do not get committed are deleted (rule 24). The place is left when the job is over.
func (st *statement) runWrite(ctx context.Context, e *taskExecution, place *admission.Place, w *preparedWrite) (int64, error) {
	run, err := st.launch(ctx, w.planned, cluster.WithOrphans(func(paths []string) { st.deleteFiles(ctx, w.table, paths) }))
	if err != nil {
		return 0, err
	}
	e.follow(run)
	outcome, err := run.Wait(ctx)
	place.Leave()
	if outcome == nil && run.Progress().Retries > 0 || outcome != nil && len(outcome.Abandoned) > 0 {
		// An executor may have been lost between putting a file in place and saying so. Listing a large table's location
		// takes long, so nothing else is a reason to.
		defer st.sweep(ctx, w.table, outcome)
	}
	if err != nil {
		return 0, err
	}
	if err := commit.Check(w.table, outcome.DataFiles); err != nil {
		st.deleteFiles(ctx, w.table, dataFilePaths(outcome.DataFiles))
		return 0, fmt.Errorf("what executors wrote to %s: %w", strings.Join(w.table.Identifier(), "."), err)
	}
	var n int64
	for _, f := range outcome.DataFiles {
		n += f.RecordCount
	}
	if _, err := commit.Append(ctx, st.opts.Catalog, w.table, commit.Request{
		CommitID: st.id, Files: outcome.DataFiles, Operation: commit.OpAppend,
	}); err != nil {
		if !errors.Is(err, commit.ErrUnknownOutcome) {
			st.deleteFiles(ctx, w.table, dataFilePaths(outcome.DataFiles))
		}
		return 0, commitError(err)
	}
	return n, nil
}

// commitError types what a commit says: that others were faster, or have dropped the table, is no fault of the engine's.
func commitError(err error) error {
	if errors.Is(err, commit.ErrConflict) || errors.Is(err, commit.ErrBadFile) {
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, err)
	}
	return catalogError(err)
}

func dataFilePaths(files []*seracv1.DataFile) []string {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	return paths
}

// deleteFiles removes uncommitted files, also when the statement's own time is up.
func (st *statement) deleteFiles(ctx context.Context, t *catalog.Table, paths []string) {
	paths, others := commit.Own(t, st.id, paths)
	if len(others) > 0 {
		st.log.Error("executors named files that are not the statement's own; they were left alone", "statement", st.id,
			"table", strings.Join(t.Identifier(), "."), "files", len(others), "first", others[0])
	}
	if len(paths) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	fs, err := t.FS(ctx)
	if err == nil {
		err = commit.DeleteFiles(ctx, fs, paths)
	}
	if err != nil {
		st.log.Warn("files of an unfinished write were left behind", "statement", st.id,
			"table", strings.Join(t.Identifier(), "."), "files", len(paths), "error", err)
	}
}

// sweep removes files that no status ever named.
func (st *statement) sweep(ctx context.Context, t *catalog.Table, outcome *cluster.Outcome) {
	var keep []string
	if outcome != nil {
		keep = dataFilePaths(outcome.DataFiles)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	removed, err := commit.Sweep(ctx, t, st.id, keep)
	if removed > 0 || err != nil {
		st.log.Info("files of lost attempts removed", "statement", st.id, "table", tableKey(t), "files", removed, "error", err)
	}
}

func (st *statement) createTableAs(ctx context.Context, p *sql.CreateTableAs) (engine.Execution, error) {
	return st.background(ctx, false, countSchema, func(ctx context.Context, e *taskExecution) (rows, int64, error) {
		n, err := st.runCreateTableAs(ctx, e, p)
		if p.IfNotExists && errors.Is(err, catalog.ErrTableExists) {
			return nil, 0, nil
		}
		return nil, n, catalogError(err)
	}), nil
}

// runCreateTableAs makes the table when it is the statement's turn, writes to it, and drops it again when the write fails.
func (st *statement) runCreateTableAs(ctx context.Context, e *taskExecution, p *sql.CreateTableAs) (int64, error) {
	if p.OrReplace {
		return 0, statementError("CREATE OR REPLACE TABLE is not supported: drop the table first")
	}
	if err := st.room(); err != nil && !p.NoData {
		return 0, err
	}
	shape, err := st.bind(ctx, p.Query)
	if err != nil {
		return 0, err
	}
	columns, err := ctasColumns(shape, p)
	if err != nil {
		return 0, err
	}
	request, err := st.createRequest(p.Name, columns, p.TableOptions)
	if err != nil {
		return 0, err
	}
	if p.NoData {
		_, err := st.makeTable(ctx, request)
		return 0, err
	}
	if _, err := st.opts.Catalog.LoadTable(ctx, request.Namespace, request.Name); err == nil { // no need to wait to be told
		return 0, fmt.Errorf("create table %s: %w", p.Name, catalog.ErrTableExists)
	}
	place, err := e.enter(ctx, st)
	if err != nil {
		return 0, err
	}
	defer place.Leave()
	t, err := st.makeTable(ctx, request)
	if err != nil {
		return 0, err
	}
	return st.journaled(t, true, func() (int64, error) { return st.fill(ctx, e, place, t, p.Query) })
}

// makeTable makes the table of a CREATE TABLE AS. A statement that ends while the catalog is at it does not wait (rule
// 25), but a catalog that goes on all the same must not leave the table behind: it is dropped then.
func (st *statement) makeTable(ctx context.Context, request catalog.CreateRequest) (*catalog.Table, error) {
	type result struct {
		table *catalog.Table
		err   error
	}
	done := make(chan result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		t, err := st.opts.Catalog.CreateTable(ctx, request)
		done <- result{t, err}
	}()
	select {
	case r := <-done:
		return r.table, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				if err := st.dropMade(ctx, r.table); err != nil {
					st.log.Warn("the table of a cancelled statement was left behind", "statement", st.id, "table", tableKey(r.table), "error", err)
				}
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// fill writes a query's rows to the table that the statement has made.
func (st *statement) fill(ctx context.Context, e *taskExecution, place *admission.Place, t *catalog.Table, query string) (int64, error) {
	st.tables.pin(t)
	targets := make([]int, len(t.Columns()))
	for i := range targets {
		targets[i] = i
	}
	w, err := st.planWrite(ctx, t, sourceSelect(t.Columns(), targets, nil, query, len(targets)))
	var n int64
	if err == nil {
		n, err = st.runWrite(ctx, e, place, w)
	}
	if err == nil || errors.Is(err, commit.ErrUnknownOutcome) {
		return n, err
	}
	if dropErr := st.dropMade(ctx, t); dropErr != nil {
		err = errors.Join(err, fmt.Errorf("the table was made and could not be dropped again: %w", dropErr))
	}
	return 0, err
}

// dropMade drops a table that the statement has made, unless others have dropped it, and perhaps made their own of that
// name, in the meantime.
func (st *statement) dropMade(ctx context.Context, t *catalog.Table) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	fresh, err := st.opts.Catalog.Reload(ctx, t)
	if err == nil && fresh.Iceberg().Metadata().TableUUID() == t.Iceberg().Metadata().TableUUID() {
		err = st.opts.Catalog.DropTable(ctx, joinSchema(t.Identifier()), t.Name(), true)
	}
	if errors.Is(err, catalog.ErrNoTable) || errors.Is(err, catalog.ErrNoNamespace) {
		return nil
	}
	return err
}

// ctasColumns are the new table's columns: the query's, in types that Iceberg can store.
func ctasColumns(shape *bind.Bound, p *sql.CreateTableAs) ([]iceberg.ColumnDef, error) {
	if p.Columns != nil && len(p.Columns) != len(shape.Columns) {
		return nil, statementError("CREATE TABLE names %d columns, and the query gives %d", len(p.Columns), len(shape.Columns))
	}
	columns := make([]iceberg.ColumnDef, len(shape.Columns))
	for i, c := range shape.Columns {
		stored, err := iceberg.StorageType(c.Type)
		if err != nil {
			return nil, statementError("column %s: %w", c.Name, err)
		}
		columns[i] = iceberg.ColumnDef{Name: c.Name, Type: stored, Nullable: true}
		if p.Columns != nil {
			columns[i].Name = p.Columns[i]
		}
	}
	return columns, nil
}
