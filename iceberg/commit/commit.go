package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	ice "github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg/catalog"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// SummaryKey is the key of a snapshot's summary that holds the commit id.
const SummaryKey = "serac.commit-id"

// Operation is what a commit does with the rows that are there.
type Operation uint8

// The operations.
const (
	// OpAppend adds the files.
	OpAppend Operation = iota + 1
	// OpOverwrite replaces the whole content of the version that the handle holds. A table that has changed since
	// then is ErrConflict.
	OpOverwrite
)

// Request is one statement's commit.
type Request struct {
	// CommitID names the statement's commit. The same id commits once, however often it is asked for.
	CommitID  string
	Files     []*seracv1.DataFile
	Operation Operation
	// Summary holds further entries of the snapshot's summary.
	Summary map[string]string
}

// Result is what stands after a commit.
type Result struct {
	// SnapshotID is the statement's snapshot. Without files to append there is none, and it is the current one (0 when
	// the table has none).
	SnapshotID       int64
	MetadataLocation string
	// Found says that the commit was there already: an earlier attempt had made it.
	Found bool
}

// The errors that callers tell apart.
var (
	// ErrConflict: the table has changed in a way the operation cannot follow, or was changed by others at every retry.
	// Nothing was committed.
	ErrConflict = errors.New("commit conflict")
	// ErrUnknownOutcome: the catalog did not say whether it committed, nor could it be asked. Do not delete the files.
	ErrUnknownOutcome = errors.New("outcome of the commit unknown")
	// ErrBadFile: a data file does not fit the table as it is now.
	ErrBadFile = errors.New("data file does not fit the table")
)

const (
	// maxConflicts bounds how often a commit is tried while others change the table.
	maxConflicts = 40
	// maxFaults bounds how often it is tried while the catalog fails.
	maxFaults = 5
	// attemptTimeout bounds one attempt. Attempts do not end with the statement's context: cutting one short would leave
	// its outcome unknown.
	attemptTimeout = 60 * time.Second
	// lookupTimeout bounds the search for a commit whose statement is over.
	lookupTimeout = 15 * time.Second

	minBackoff = 10 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// Append commits the files as one snapshot. t is the handle the statement was planned with. A context that is done stops
// it between attempts, not inside one.
//
// Any error but ErrUnknownOutcome means that nothing was committed and nothing will be: the files may be deleted.
func Append(ctx context.Context, c *catalog.Catalog, t *catalog.Table, r Request) (Result, error) {
	result, err := run(ctx, c, t, r)
	if err != nil {
		return Result{}, fmt.Errorf("commit to %s: %w", strings.Join(t.Identifier(), "."), err)
	}
	return result, nil
}

func run(ctx context.Context, c *catalog.Catalog, t *catalog.Table, r Request) (Result, error) {
	if r.CommitID == "" {
		return Result{}, errors.New("the commit has no id")
	}
	if r.Operation != OpAppend && r.Operation != OpOverwrite {
		return Result{}, fmt.Errorf("unknown operation %d", r.Operation)
	}
	release, err := c.LockCommits(ctx, t)
	if err != nil {
		return Result{}, err
	}
	defer release()
	l := loop{catalog: c, planned: t, request: r}
	return l.run(ctx)
}

// loop is one commit on its way.
type loop struct {
	catalog *catalog.Catalog
	planned *catalog.Table
	request Request

	conflicts, faults int
	last              *attempt // the attempt before, when its outcome is not settled
}

func (l *loop) run(ctx context.Context) (Result, error) {
	for {
		fresh, err := l.load(ctx)
		if err != nil && l.last != nil && ctx.Err() != nil {
			return l.lastWord(ctx, err)
		}
		if err != nil {
			return Result{}, err
		}
		if result, found := find(fresh, l.request.CommitID); found {
			return result, nil
		}
		if err := l.settle(ctx, fresh); err != nil {
			return Result{}, err
		}
		if len(l.request.Files) == 0 && l.request.Operation == OpAppend {
			return Result{SnapshotID: fresh.SnapshotID(), MetadataLocation: fresh.MetadataLocation()}, nil
		}
		a, result, err := l.attempt(ctx, fresh)
		if err == nil {
			return result, nil
		}
		if !a.submitted {
			return Result{}, l.unlessDropped(ctx, err) // nothing has reached the catalog
		}
		a.err = err
		l.last = a
		if err := l.wait(ctx); err != nil {
			return l.lastWord(ctx, err)
		}
	}
}

// unlessDropped is the error of an attempt that has reached nobody. Files of the table that are not there say that it has been
// purged, if the catalog does.
func (l *loop) unlessDropped(ctx context.Context, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fresh, reload := l.catalog.Reload(ctx, l.planned)
	if errors.Is(reload, catalog.ErrNoTable) || reload == nil && l.replaced(fresh) {
		return fmt.Errorf("%w: the table was dropped while the statement ran", ErrConflict)
	}
	return err
}

// replaced says whether the table is another one of the planned one's name.
func (l *loop) replaced(fresh *catalog.Table) bool {
	return l.planned.Iceberg().Metadata().TableUUID() != fresh.Iceberg().Metadata().TableUUID()
}

// load loads the table as it is now and checks that it is still the table that was planned.
func (l *loop) load(ctx context.Context) (*catalog.Table, error) {
	for {
		fresh, err := l.catalog.Reload(ctx, l.planned)
		switch {
		case err == nil:
			if l.replaced(fresh) {
				return nil, fmt.Errorf("%w: the table was dropped and created again while the statement ran", ErrConflict)
			}
			return fresh, nil
		case l.last == nil:
			return nil, err
		case errors.Is(err, catalog.ErrNoTable):
			return nil, fmt.Errorf("%w: the table was dropped while the statement ran", ErrConflict)
		}
		// An attempt has been made, and whether it succeeded cannot be seen.
		if l.faults++; l.faults >= maxFaults {
			return nil, fmt.Errorf("%w: %w (and the table cannot be read: %w)", ErrUnknownOutcome, l.last.err, err)
		}
		if err := l.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// Committed says whether a commit of that id stands among the table's snapshots.
func Committed(t *catalog.Table, id string) bool {
	_, found := find(t, id)
	return found
}

// find looks for a commit by its id among the snapshots, the latest first.
func find(t *catalog.Table, id string) (Result, bool) {
	snapshots := t.Iceberg().Metadata().Snapshots()
	for i := len(snapshots) - 1; i >= 0; i-- {
		if s := snapshots[i]; s.Summary != nil && s.Summary.Properties[SummaryKey] == id {
			return Result{SnapshotID: s.SnapshotID, MetadataLocation: t.MetadataLocation(), Found: true}, true
		}
	}
	return Result{}, false
}

// settle decides about the attempt before, which fresh does not contain: nil means to try again.
func (l *loop) settle(ctx context.Context, fresh *catalog.Table) error {
	a := l.last
	if a == nil {
		return nil
	}
	if fresh.SnapshotID() != a.base.SnapshotID() {
		// Others were faster. The attempt demanded the old head, so it can never succeed any more.
		l.last = nil
		a.discard(ctx)
		return l.conflict()
	}
	if a.settled(l.catalog) {
		l.last = nil
		a.discard(ctx)
		if errors.Is(a.err, table.ErrCommitFailed) {
			// Somebody is about to move the head and has it reserved.
			return l.conflict()
		}
		if !retryable(a.err) {
			return a.err
		}
		if l.faults++; l.faults >= maxFaults {
			return a.err
		}
		return nil
	}
	if l.faults++; l.faults >= maxFaults {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, a.err)
	}
	return nil
}

// conflict counts an attempt that lost to others.
func (l *loop) conflict() error {
	if l.conflicts++; l.conflicts >= maxConflicts {
		return fmt.Errorf("%w: others changed the table %d times in a row", ErrConflict, l.conflicts)
	}
	return nil
}

// lastWord looks, without the statement's context, which is over, for what came of an attempt that did not say. A commit
// that is found there stands, and so does the statement.
func (l *loop) lastWord(ctx context.Context, cause error) (Result, error) {
	a := l.last
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	fresh, err := l.catalog.Reload(detached, l.planned)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrUnknownOutcome, cause)
	}
	if result, found := find(fresh, l.request.CommitID); found {
		return result, nil
	}
	if fresh.SnapshotID() != a.base.SnapshotID() || a.settled(l.catalog) {
		a.discard(detached)
		return Result{}, cause
	}
	return Result{}, fmt.Errorf("%w: %w", ErrUnknownOutcome, cause)
}

// wait backs off before the next attempt.
func (l *loop) wait(ctx context.Context) error {
	backoff := min(minBackoff<<min(l.conflicts+l.faults, 10), maxBackoff)
	timer := time.NewTimer(backoff/2 + rand.N(backoff))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retryable says whether an attempt that did not commit may go better another time. The catalog's refusals would not.
func retryable(err error) bool {
	for _, refusal := range []error{
		rest.ErrBadRequest, rest.ErrForbidden, rest.ErrUnauthorized, rest.ErrOAuthError,
		icecatalog.ErrNoSuchTable, icecatalog.ErrNoSuchNamespace, ice.ErrInvalidArgument, ErrBadFile,
	} {
		if errors.Is(err, refusal) {
			return false
		}
	}
	return true
}

// attempt stages the files on the table as just loaded and submits them once.
func (l *loop) attempt(ctx context.Context, base *catalog.Table) (*attempt, Result, error) {
	a := &attempt{catalog: l.catalog, base: base}
	if l.request.Operation == OpOverwrite && base.SnapshotID() != l.planned.SnapshotID() {
		return a, Result{}, fmt.Errorf("%w: the table has changed since the statement was planned", ErrConflict)
	}
	files, err := dataFiles(l.planned, base, l.request.Files, l.firstRowID(base))
	if err != nil {
		return a, Result{}, err
	}
	summary := ice.Properties{"engine-name": "serac"}
	maps.Copy(summary, l.request.Summary)
	summary[SummaryKey] = l.request.CommitID

	if err := context.Cause(ctx); err != nil {
		return a, Result{}, err
	}
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
	defer cancel()
	tx := a.transaction()
	if l.request.Operation == OpAppend {
		err = stageAppend(detached, tx, base, files, summary)
	} else {
		err = stageOverwrite(detached, tx, base, files, summary)
	}
	if err != nil {
		return a, Result{}, fmt.Errorf("write manifests: %w", err)
	}
	if _, err := tx.Commit(detached); err != nil && !a.accepted {
		return a, Result{}, errors.Join(a.refusal, unlessRefused(a, err))
	}
	for _, s := range a.metadata.Snapshots() {
		if s.Summary != nil && s.Summary.Properties[SummaryKey] == l.request.CommitID {
			return a, Result{SnapshotID: s.SnapshotID, MetadataLocation: a.location}, nil
		}
	}
	return a, Result{}, errors.New("the catalog accepted the commit but its answer does not hold the snapshot")
}

// firstRowID is where the row ids of an overwrite's files start, nil where iceberg-go assigns them itself: it does so for
// appends and wants them spelled out for replacements.
func (l *loop) firstRowID(base *catalog.Table) *int64 {
	if l.request.Operation != OpOverwrite || base.FormatVersion() < 3 {
		return nil
	}
	next := base.Iceberg().Metadata().NextRowID()
	return &next
}

// unlessRefused is err unless it only repeats the catalog's refusal.
func unlessRefused(a *attempt, err error) error {
	if a.refusal != nil {
		return nil
	}
	return err
}

// stageAppend adds files as one snapshot. Names of data files are never used twice, and the commit id guards against
// committing twice, so iceberg-go need not read all manifests for duplicates.
func stageAppend(ctx context.Context, tx *table.Transaction, base *catalog.Table, files []ice.DataFile, summary ice.Properties) error {
	if base.FormatVersion() >= 3 {
		// AddDataFiles wants row ids for files of version 3; here they are assigned by the manifest list.
		return tx.NewRowDelta(summary).AddRows(files...).Commit(ctx)
	}
	return tx.AddDataFiles(ctx, files, summary, table.WithoutDuplicateCheck(), table.WithoutAutoNameMapping())
}
