package task

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/executor/shuffle"
	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/iceberg/read"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// leaves are the SELECTs that stand for the plan's leaves, and what must be kept while they run.
type leaves struct {
	sqls map[plan.LeafID]string

	mu      sync.Mutex
	files   []*object.File
	queries []*read.Query
}

// sql is render.Options.Leaf.
func (l *leaves) sql(n plan.Node) (string, error) {
	id, ok := leafOf(n)
	if !ok {
		return "", fmt.Errorf("leaf %T cannot run on an executor", n)
	}
	sql, ok := l.sqls[id]
	if !ok { // not assigned
		return render.Empty(n.Schema().Types()), nil
	}
	return sql, nil
}

// file keeps a file for as long as the task runs, and gives its path.
func (l *leaves) file(f *object.File) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files = append(l.files, f)
	return f.Path
}

func (l *leaves) release() {
	for _, q := range l.queries {
		_ = q.Close() // what it leaves goes with the task's directory
	}
	for _, f := range l.files {
		f.Release()
	}
}

// leafOf is the id that a leaf is assigned by.
func leafOf(n plan.Node) (plan.LeafID, bool) {
	switch n := n.(type) {
	case *plan.IcebergScan:
		return n.Leaf, true
	case *plan.MetadataScan:
		return n.Leaf, true
	case *plan.ShuffleRead:
		return n.Leaf, true
	case *plan.Values:
		return n.Leaf, true
	case *plan.TableFunction:
		return n.Leaf, n.Input == nil
	case *plan.Extension:
		return n.Leaf()
	default:
		return 0, false
	}
}

// resolve brings what the leaves of the plan are assigned to where DuckDB may read it, all at the same time.
func (a *attempt) resolve(ctx context.Context, root plan.Node) (_ *leaves, err error) {
	assigned := make(map[plan.LeafID]*seracv1.LeafAssignment)
	for _, as := range a.task.launch.GetAssignments() {
		id := plan.LeafID(as.GetLeaf())
		if assigned[id] != nil {
			return nil, fmt.Errorf("leaf %d is assigned twice", id)
		}
		assigned[id] = as
	}
	type job struct {
		id   plan.LeafID
		node plan.Node
		what *seracv1.LeafAssignment
	}
	var jobs []job
	seen := map[plan.LeafID]bool{}
	var faults []error
	plan.Walk(root, func(n plan.Node) bool {
		id, ok := leafOf(n)
		if !ok {
			return true
		}
		if seen[id] {
			faults = append(faults, fmt.Errorf("the plan has leaf %d twice", id))
		}
		seen[id] = true
		if as := assigned[id]; as != nil {
			jobs = append(jobs, job{id, n, as})
		}
		return true
	})
	for id := range assigned {
		if !seen[id] {
			faults = append(faults, fmt.Errorf("leaf %d is assigned, but the plan does not have it", id))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}

	out := &leaves{sqls: map[plan.LeafID]string{}}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, j := range jobs {
		group.Go(func() error {
			sql, err := a.leaf(groupCtx, out, j.node, j.what)
			if err != nil {
				return fmt.Errorf("leaf %d: %w", j.id, err)
			}
			out.mu.Lock()
			defer out.mu.Unlock()
			out.sqls[j.id] = sql
			return nil
		})
	}
	err = group.Wait()
	for _, q := range out.queries {
		for _, statement := range q.Setup {
			if err == nil {
				err = a.conn.Exec(ctx, statement)
			}
		}
	}
	if err != nil {
		out.release()
		return nil, err
	}
	return out, nil
}

// leaf is the SELECT of one assigned leaf; "" leaves it to the renderer.
func (a *attempt) leaf(ctx context.Context, keep *leaves, n plan.Node, as *seracv1.LeafAssignment) (string, error) {
	switch n := n.(type) {
	case *plan.ShuffleRead:
		if in, ok := as.GetWhat().(*seracv1.LeafAssignment_Shuffle); ok {
			return a.shuffleRead(ctx, n, in.Shuffle.GetFiles())
		}
	case *plan.IcebergScan:
		if in, ok := as.GetWhat().(*seracv1.LeafAssignment_Files); ok {
			return a.scan(ctx, keep, n, in.Files)
		}
	case *plan.MetadataScan:
		if _, ok := as.GetWhat().(*seracv1.LeafAssignment_Constant); ok {
			return a.metadataScan(ctx, n)
		}
	case *plan.Extension:
		if in, ok := as.GetWhat().(*seracv1.LeafAssignment_Splits); ok {
			return a.extension(ctx, keep, n, in.Splits.GetSplits())
		}
	case *plan.TableFunction:
		if _, ok := as.GetWhat().(*seracv1.LeafAssignment_Constant); ok {
			return a.tableFunction(ctx, n)
		}
	case *plan.Values:
		if _, ok := as.GetWhat().(*seracv1.LeafAssignment_Constant); ok {
			return "", nil
		}
	}
	return "", fmt.Errorf("%T cannot read what it is assigned (%T)", n, as.GetWhat())
}

func (a *attempt) shuffleRead(ctx context.Context, n *plan.ShuffleRead, files []*seracv1.ShuffleFile) (string, error) {
	types := n.Out.Types()
	if len(files) == 0 {
		return render.Empty(types), nil
	}
	for _, f := range files {
		a.task.inputRows.Add(f.GetRows())
		a.task.inputBytes.Add(f.GetSizeBytes())
	}
	paths, err := a.Fetcher.Fetch(ctx, files, a.dir, fmt.Sprintf("leaf%d_", n.Leaf), &a.task.fetchedBytes)
	if err != nil {
		return "", err
	}
	return shuffle.ReadSQL(types, paths)
}

func (a *attempt) scan(ctx context.Context, keep *leaves, n *plan.IcebergScan, group *seracv1.FileGroup) (string, error) {
	if len(group.GetFiles()) == 0 {
		return render.Empty(n.Schema().Types()), nil
	}
	t, err := a.table(ctx, n.TableKey)
	if err != nil {
		return "", err
	}
	described := a.fragment.Tables[n.TableKey]
	// What is cached belongs to the credentials that the task came with; those that follow are as good.
	credentials := described.FileIO.Fingerprint()
	storage := object.Storage{IO: newStorage(ctx, a.Tables, described, t.MetadataLocation(), a.task.renew), Scope: hex.EncodeToString(credentials[:])}
	for _, f := range group.GetFiles() {
		rows, bytes := f.GetRecordCount(), f.GetSizeBytes()
		if f.GetLength() > 0 && f.GetLength() < bytes {
			rows = int64(float64(rows) * float64(f.GetLength()) / float64(bytes))
			bytes = f.GetLength()
		}
		a.task.inputRows.Add(rows)
		a.task.inputBytes.Add(bytes)
	}
	schema, err := scanSchema(t, n)
	if err != nil {
		return "", err
	}
	query, err := read.SQL(ctx, read.Input{
		Scan:        n,
		Schema:      schema,
		Schemas:     t.Metadata().Schemas(),
		NameMapping: t.NameMapping(),
		Distinct:    distinct(a.fragment.Root),
		Group:       group,
		Unpartitioned: func(specID int32) bool {
			spec := t.Metadata().PartitionSpecByID(int(specID))
			return spec != nil && spec.NumFields() == 0
		},
		Local: func(ctx context.Context, path string) (string, error) {
			f, err := a.Objects.Local(ctx, storage, path)
			if err != nil {
				return "", err
			}
			return keep.file(f), nil
		},
		Footer: func(ctx context.Context, path string) (*metadata.FileMetaData, error) {
			return a.Objects.Footer(ctx, storage, path)
		},
		Sparse: func(ctx context.Context, path string, need object.Need) (string, bool, error) {
			f, ok, err := a.Objects.Sparse(ctx, storage, path, need)
			if err != nil || !ok {
				return "", false, err
			}
			return keep.file(f), true, nil
		},
		TempDir: a.dir,
		Prefix:  fmt.Sprintf("leaf%d", n.Leaf),
	})
	if err != nil {
		return "", fmt.Errorf("scan of %s: %w", n.TableKey, err)
	}
	keep.mu.Lock()
	defer keep.mu.Unlock()
	keep.queries = append(keep.queries, query)
	return query.SQL, nil
}

// distinct says that a plan may compare nested values by IS [NOT] DISTINCT FROM, other than as a join's condition: read.Input.Distinct.
func distinct(root plan.Node) bool {
	found := false
	plan.Walk(root, func(n plan.Node) bool {
		if whole, ok := n.(*plan.WholeStatement); ok {
			found = found || strings.Contains(whole.SQL, "DISTINCT FROM")
		}
		for _, e := range plan.NodeExprs(n) {
			plan.WalkExpr(e, func(e plan.Expr) bool {
				c, ok := e.(*plan.Comparison)
				found = found || ok && (c.Op == plan.NotDistinctFrom || c.Op == plan.DistinctFrom) && read.Nested(c.Left.Type())
				return !found
			})
		}
		return !found
	})
	return found
}

// extension has a table format say how its leaf is read.
func (a *attempt) extension(ctx context.Context, keep *leaves, n *plan.Extension, splits []*seracv1.Split) (string, error) {
	types := n.Schema().Types()
	if len(splits) == 0 {
		return render.Empty(types), nil
	}
	for _, s := range splits {
		a.task.inputRows.Add(s.GetRows())
		a.task.inputBytes.Add(s.GetSizeBytes())
	}
	return a.Formats.SQL(ctx, n, splits, format.Read{
		Local: func(ctx context.Context, location string) (string, error) {
			f, err := a.Objects.Local(ctx, object.Storage{}, location)
			if err != nil {
				return "", err
			}
			return keep.file(f), nil
		},
		TempDir: a.dir,
	})
}

// table rebuilds a table of the fragment.
func (a *attempt) table(ctx context.Context, key string) (*table.Table, error) {
	described := a.fragment.Tables[key]
	if described == nil {
		return nil, fmt.Errorf("the fragment does not describe table %q", key)
	}
	if a.task.renew != nil {
		// A task may have waited for its turn until what it came with expired.
		fileIO, _, _, err := newStorage(ctx, a.Tables, described, described.MetadataLocation, a.task.renew).current()
		if err != nil {
			return nil, err
		}
		fresh := *described
		fresh.FileIO = fileIO
		described = &fresh
	}
	return a.Tables.Rebuild(ctx, described)
}

// scanSchema is the schema that the scan was planned with: the current one for the current snapshot, in which columns may
// have been added or renamed since, and the snapshot's own for an older one and in time travel.
func scanSchema(t *table.Table, n *plan.IcebergScan) (*ice.Schema, error) {
	if current := t.CurrentSnapshot(); !n.AsOf && current != nil && current.SnapshotID == n.SnapshotID {
		return t.Schema(), nil
	}
	snapshot := t.SnapshotByID(n.SnapshotID)
	if snapshot == nil {
		return nil, wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "table has no snapshot %d", n.SnapshotID)
	}
	if snapshot.SchemaID != nil {
		if schema, ok := t.Schemas()[*snapshot.SchemaID]; ok {
			return schema, nil
		}
	}
	return t.Schema(), nil
}
