package commit

import (
	"context"
	"errors"

	icebergio "github.com/apache/iceberg-go/io"

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

// Append commits the files as one snapshot. t is the handle the statement was planned with.
func Append(ctx context.Context, c *catalog.Catalog, t *catalog.Table, r Request) (Result, error) {
	return Result{}, errors.New("not built yet")
}

// DeleteFiles removes files of a failed or superseded attempt, by their paths. Files that are not there are no error. It
// goes on after a failure and returns all of them joined.
func DeleteFiles(ctx context.Context, io icebergio.IO, paths []string) error {
	return errors.New("not built yet")
}
