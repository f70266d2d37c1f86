package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/inspect"
	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/engine"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/wire"
)

// query starts a SELECT: its rows come back through the execution.
func (st *statement) query(ctx context.Context, text string) (engine.Execution, error) {
	return st.begin(ctx, func(ctx context.Context) (*jobExecution, error) {
		if err := st.room(); err != nil {
			return nil, err
		}
		bound, err := st.bindAgain(ctx, text)
		if err != nil {
			return nil, err
		}
		p, err := st.plan(ctx, bound, nil)
		if err != nil {
			return nil, err
		}
		return st.startQuery(ctx, bound, p)
	})
}

// bind has DuckDB bind a query over the session's names, and plan it.
func (st *statement) bind(ctx context.Context, text string) (*bind.Bound, error) {
	return st.bindFor(ctx, text, nil)
}

// bindFor is bind that may leave out the plan (bind.Request.TextOnly).
func (st *statement) bindFor(ctx context.Context, text string, textOnly func([]*bind.Table) bool) (*bind.Bound, error) {
	catalogName, schema := st.session.Namespace()
	bound, err := st.opts.Binder.Bind(ctx, bind.Request{
		SQL: text, Catalog: catalogName, Schema: schema, Settings: st.settings, Resolve: st.resolve, TextOnly: textOnly,
	})
	if err != nil {
		return nil, bindError(err)
	}
	return bound, nil
}

// resolve finds the table behind a reference. It is called for several at once, each in a goroutine of its own.
func (st *statement) resolve(ctx context.Context, ref bind.Ref) (t *bind.Table, err error) {
	err = st.guarded(func() (err error) {
		t, err = st.referenced(ctx, ref)
		return err
	})
	return t, err
}

func (st *statement) referenced(ctx context.Context, ref bind.Ref) (*bind.Table, error) {
	if c, schema, table, err := st.qualify(ref.Parts); err == nil && c != nil {
		if ref.At != nil {
			return nil, statementError("table %s: AT is for Iceberg tables", ref)
		}
		t, err := st.resolveFormat(ctx, c, schema, table)
		return t, missing(ref, err)
	}
	name, err := st.readable(ctx, ref.Parts)
	if err != nil {
		return nil, missing(ref, err)
	}
	t := name.table
	ident := t.Identifier()
	out := &bind.Table{
		Catalog: ident[0], Schema: joinSchema(ident), Name: t.Name(), Key: tableKey(t),
		Columns: t.Columns(), Rows: t.Rows(), Bytes: t.Bytes(), SnapshotID: t.SnapshotID(),
	}
	if ref.At != nil {
		version, err := asOf(t, name.metadata, ref.At)
		if err != nil {
			return nil, statementError("table %s: %v", ref, err)
		}
		out.AsOf = true
		out.SnapshotID, out.Columns, out.Rows, out.Bytes = version.SnapshotID, version.Columns, version.Rows, version.Bytes
	}
	if name.metadata != "" {
		out.Name += "$" + name.metadata
		out.Metadata, out.Renamed = name.metadata, name.renamed
		out.Rows, out.Bytes = inspect.Rows(t.Iceberg(), name.metadata, out.SnapshotID), -1
		if out.Columns, err = inspect.Columns(t.Iceberg(), name.metadata); err != nil {
			return nil, statementError("table %s: %v", ref, err)
		}
	}
	return out, nil
}

// missing tells the binder that there is no such table, where that is what err says: the name may be a file's.
func missing(ref bind.Ref, err error) error {
	for _, is := range []error{catalog.ErrNoTable, catalog.ErrNoNamespace, catalog.ErrBadName, format.ErrNoTable, format.ErrNoSchema} {
		if errors.Is(err, is) {
			return &bind.NotFoundError{Name: ref.String(), Err: err}
		}
	}
	return err
}

// bindError types what the binder says: an interruption and a panic keep their kind, all else is the statement's own fault.
func bindError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, wire.ErrInternal) {
		return err
	}
	return wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, err)
}

// planned is a statement cut into stages.
type planned struct {
	// stages are those that it would have if all went by estimates.
	stages []*planner.Stage
	// root and scans are what the stages were made of, nil when it runs whole.
	root  plan.Node
	scans map[plan.LeafID]planner.ScanFiles
	// adapting, if not nil, is closed when no further stages will come; stages are those that ran from then on.
	adapting chan struct{}
	// why says why the statement runs as it does.
	why string
	// scanned is the size of the scanned columns in bytes.
	scanned int64
	// planning is the time it took.
	planning time.Duration
}

// plan plans the scans of a bound query once, and cuts it into stages. write, if not nil, puts the root of a write on the
// query.
func (st *statement) plan(ctx context.Context, bound *bind.Bound, write func(plan.Node) plan.Node) (*planned, error) {
	start := time.Now()
	if write == nil {
		write = func(n plan.Node) plan.Node { return n }
	}
	var shape plan.Node = bound.Whole
	asText := true // shape is the statement's text
	if bound.Whole == nil || bound.Plan != nil && st.mayDistribute(bound.Plan) {
		shape, asText = bound.Plan, false
	}
	if shape == nil {
		return nil, fmt.Errorf("bind gave neither a plan nor a whole statement: %s", bound.Reason)
	}
	shape, scans, err := st.planScans(ctx, shape)
	if err != nil {
		return nil, err
	}
	p := &planned{scanned: scannedBytes(scans)}
	p.why = st.whole(bound, p.scanned)
	switch {
	case p.why != "" && bound.Whole != nil:
		// The text's own leaves carry their own ids: its scans are planned for them.
		if !asText {
			if shape, scans, err = st.planScans(ctx, bound.Whole); err != nil {
				return nil, err
			}
		}
		p.stages, err = planner.OneTask(write(shape), scans, p.why)
	case p.why != "":
		p.stages, err = planner.OneTask(write(shape), scans, p.why)
	default:
		if asText { // an executor has come meanwhile
			if shape, scans, err = st.planScans(ctx, bound.Plan); err != nil {
				return nil, err
			}
		}
		bound.Plan = shape
		p.root, p.scans = write(bound.Plan), scans
		p.stages, err = planner.Distribute(p.root, scans, st.plannerOptions())
		var not *planner.NotDistributableError
		if errors.As(err, &not) {
			p.why, p.root = not.Reason, nil
			p.stages, err = planner.OneTask(write(bound.Plan), scans, not.Reason)
		}
	}
	p.planning = time.Since(start)
	return p, err
}

// mayDistribute says, from what the tables' snapshots say of their size, whether it is worth planning the scans of the
// plan. Where it is not, those of the whole statement alone are planned.
func (st *statement) mayDistribute(root plan.Node) bool {
	threshold := st.options.DistributionThreshold
	if threshold == 0 {
		return true
	}
	var most int64
	plan.Walk(root, func(n plan.Node) bool {
		if s, ok := n.(*plan.IcebergScan); ok {
			if bytes := st.tables.size(s.TableKey); bytes >= 0 {
				most += bytes
			} else {
				most += threshold // unknown: look at the files
			}
		}
		return true
	})
	return most >= threshold && len(st.opts.Cluster.Executors()) != 1
}

// fewFiles is how many data files a table may have without it being worth a plan to know which of them a statement needs:
// DuckDB looks into each.
const fewFiles = 8

// textOnly says that a query over these tables runs whole, whatever its plan is, and that a plan would save little reading: there
// is one executor, and the tables are a few local files each.
func (st *statement) textOnly(tables []*bind.Table) bool {
	if st.options.DistributionThreshold == 0 || len(st.opts.Cluster.Executors()) != 1 {
		return false
	}
	for _, t := range tables {
		pinned, ok := st.tables.byKey(t.Key)
		if !ok || t.Metadata != "" || t.AsOf {
			return false
		}
		if files := pinned.Files(); files < 0 || files > fewFiles {
			return false
		}
		if _, local, err := object.LocalPath(pinned.Location()); err != nil || !local {
			return false
		}
	}
	return true
}

// whole says why a statement runs whole in one task, or "" when it is worth distributing.
func (st *statement) whole(bound *bind.Bound, scanned int64) string {
	threshold := st.options.DistributionThreshold
	switch {
	case bound.Plan == nil && bound.Reason != "":
		return "the plan cannot express it: " + bound.Reason
	case threshold == 0 && bound.Plan != nil:
		return ""
	case scanned < threshold:
		return fmt.Sprintf("scans %s, below the distribution threshold of %s", planner.SizeText(scanned), config.Bytes(threshold))
	case bound.Plan == nil || len(st.opts.Cluster.Executors()) == 1: // without a plan there was one when it was bound
		return "there is one executor: DuckDB spreads the statement over its threads itself"
	}
	return ""
}

func (st *statement) plannerOptions() planner.Options {
	broadcast := st.options.BroadcastThreshold
	if broadcast == 0 {
		broadcast = -1 // the planner takes 0 for its own default
	}
	return planner.Options{
		Slots:                st.opts.Cluster.Slots(),
		ShufflePartitions:    st.options.ShufflePartitions,
		MaxPartitionsPerTask: st.options.MaxPartitionsPerTask,
		TargetTaskSize:       st.options.TargetTaskSize,
		BroadcastThreshold:   broadcast,
		Adaptive:             st.options.Adaptive,
		KeyRanges:            st.options.KeyRanges,
		CanShuffle:           st.opts.CanShuffle,
	}
}

// scanFiles fits planned files to the planner.
type scanFiles struct{ *scan.Files }

func (f scanFiles) Groups(target int64, minGroups int) []*seracv1.FileGroup {
	return scan.Group(f.Files, target, minGroups, 0)
}

func (f scanFiles) KeySpans(column plan.ScanColumn) ([]planner.KeySpan, bool) {
	files, ok := f.Files.KeySpans(column)
	spans := make([]planner.KeySpan, len(files))
	for i, s := range files {
		spans[i] = planner.KeySpan(s)
	}
	return spans, ok
}

func (f scanFiles) Rows() int64  { return f.Files.Rows }
func (f scanFiles) Bytes() int64 { return f.Files.Bytes }

func scannedBytes(scans map[plan.LeafID]planner.ScanFiles) int64 {
	var total int64
	for _, f := range scans {
		total += f.Bytes()
	}
	return total
}

// maxConcurrentScans bounds the scans of one statement that are planned at once, and the tables that are looked up again.
const maxConcurrentScans = 8

// planScans plans the files of every scan once (rule 9), at the versions the statement is pinned to. To the binder every
// table is an Iceberg table: in the plan that comes back, scans of other formats' tables are those formats' leaves.
func (st *statement) planScans(ctx context.Context, root plan.Node) (plan.Node, map[plan.LeafID]planner.ScanFiles, error) {
	var leaves []*plan.IcebergScan
	plan.Walk(root, func(n plan.Node) bool {
		if s, ok := n.(*plan.IcebergScan); ok {
			leaves = append(leaves, s)
		}
		return true
	})
	files := make([]planner.ScanFiles, len(leaves))
	others := make([]plan.Node, len(leaves)) // what stands in a leaf's place
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxConcurrentScans)
	for i, leaf := range leaves {
		g.Go(func() error {
			err := st.guarded(func() (err error) {
				if t, ok := st.tables.byKey(leaf.TableKey); ok {
					var planned *scan.Files
					planned, err = scan.PlanScan(ctx, t, leaf)
					files[i] = scanFiles{planned}
				} else if t, ok := st.tables.formatByKey(leaf.TableKey); ok {
					others[i], files[i], err = t.plan(ctx, leaf)
				} else {
					err = errors.New("the table is not pinned")
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("plan scan of %s: %w", leaf.TableKey, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	scans := make(map[plan.LeafID]planner.ScanFiles, len(leaves))
	inPlace := map[plan.LeafID]plan.Node{}
	for i, leaf := range leaves {
		scans[leaf.Leaf] = files[i]
		if others[i] != nil {
			inPlace[leaf.Leaf] = others[i]
		}
	}
	root, err := plan.Transform(root, func(n plan.Node) (plan.Node, error) {
		if s, ok := n.(*plan.IcebergScan); ok && inPlace[s.Leaf] != nil {
			return inPlace[s.Leaf], nil
		}
		return n, nil
	})
	return root, scans, err
}
