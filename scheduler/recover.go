package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/scheduler/journal"
)

// journaled runs a write under a note of it, which stays when what came of the write is not known.
func (st *statement) journaled(t *catalog.Table, created bool, write func() (int64, error)) (int64, error) {
	err := st.opts.Journal.Begin(journal.Entry{
		Statement: st.id, Schema: joinSchema(t.Identifier()), Table: t.Name(),
		TableUUID: t.Iceberg().Metadata().TableUUID().String(), Created: created,
	})
	if err != nil {
		return 0, err
	}
	n, err := write()
	if errors.Is(err, commit.ErrUnknownOutcome) {
		return n, err
	}
	if endErr := st.opts.Journal.End(st.id); endErr != nil {
		st.log.Warn("the journal keeps the note of a write that is over", "statement", st.id, "error", endErr)
	}
	return n, err
}

// Recover removes what writes left behind whose scheduler was killed: data files that were not committed, and tables that
// CREATE TABLE AS had made and not filled. Call it when executors have had the time to notice that their scheduler is
// gone, and with the entries that the journal was opened with. What fails stays in the journal.
func (s *Scheduler) Recover(ctx context.Context, entries []journal.Entry) {
	for _, e := range entries {
		if ctx.Err() != nil {
			return
		}
		removed, err := s.recoverWrite(ctx, e)
		if err == nil {
			err = s.opts.Journal.End(e.Statement)
		}
		if err != nil {
			s.log.Warn("files of a write that was cut off may be left behind", "statement", e.Statement, "table", e.Schema+"."+e.Table, "error", err)
		} else {
			s.log.Info("a write that was cut off is cleaned up", "statement", e.Statement, "table", e.Schema+"."+e.Table, "files", removed)
		}
	}
}

func (s *Scheduler) recoverWrite(ctx context.Context, e journal.Entry) (removed int, err error) {
	t, err := s.opts.Catalog.LoadTable(ctx, e.Schema, e.Table)
	if errors.Is(err, catalog.ErrNoTable) || errors.Is(err, catalog.ErrNoNamespace) {
		return 0, nil // dropped since then, as DROP TABLE drops: with or without its files
	}
	if err != nil {
		return 0, err
	}
	if !strings.EqualFold(t.Iceberg().Metadata().TableUUID().String(), e.TableUUID) {
		return 0, nil // another table of the same name
	}
	if commit.Committed(t, e.Statement) {
		return 0, nil
	}
	if removed, err = commit.Sweep(ctx, t, e.Statement, nil); err != nil {
		return removed, err
	}
	if e.Created && len(t.Iceberg().Metadata().Snapshots()) == 0 {
		if err := s.opts.Catalog.DropTable(ctx, e.Schema, e.Table, true); err != nil && !errors.Is(err, catalog.ErrNoTable) {
			return removed, fmt.Errorf("drop the table that was not filled: %w", err)
		}
	}
	return removed, nil
}
