package commit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg/catalog"
)

// attempt is one try at a commit. It stands between iceberg-go's transaction and the catalog, so that the transaction
// submits once: iceberg-go's own retries know no commit ids.
type attempt struct {
	catalog *catalog.Catalog
	base    *catalog.Table

	submitted bool // something was sent to the catalog
	returned  bool // the catalog's call ended by itself
	accepted  bool // the catalog said yes; metadata and location are its answer
	refusal   error
	metadata  table.Metadata
	location  string
	snapshot  *stagedSnapshot

	err error // how the attempt ended
}

// stagedSnapshot is what the attempt wrote besides data files.
type stagedSnapshot struct {
	ID             int64  `json:"snapshot-id"`
	ParentID       *int64 `json:"parent-snapshot-id"`
	SequenceNumber int64  `json:"sequence-number"`
	FirstRowID     *int64 `json:"first-row-id"`
	ManifestList   string `json:"manifest-list"`
}

// transaction opens a transaction on the base whose commit comes here.
func (a *attempt) transaction() *table.Transaction {
	below := a.base.Iceberg()
	t := table.New(below.Identifier(), below.Metadata(), below.MetadataLocation(), below.FS, a,
		table.WithMetricsReporter(below.MetricsReporter()))
	return t.NewTransaction()
}

// errNotCommitted ends iceberg-go's loop. It hides the catalog's error, which would start a retry; that is in refusal.
type errNotCommitted struct{}

func (errNotCommitted) Error() string { return "the catalog did not commit" }

// LoadTable is iceberg-go's way to retry, which is not taken.
func (a *attempt) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	return nil, errNotCommitted{}
}

// CommitTable submits the commit.
func (a *attempt) CommitTable(ctx context.Context, ident table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	a.snapshot = staged(updates)
	if err := a.repairEmptyBounds(ctx); err != nil {
		a.refusal = fmt.Errorf("write the bounds of manifests: %w", err)
		return nil, "", errNotCommitted{}
	}
	a.submitted = true
	metadata, location, returned, err := a.catalog.CommitTable(ctx, ident, requirements, updates)
	a.returned = returned
	if err != nil {
		a.refusal = err
		return nil, "", errNotCommitted{}
	}
	a.accepted, a.metadata, a.location = true, metadata, location
	return metadata, location, nil
}

// staged finds the snapshot among the updates. iceberg-go's type for it is unexported; its JSON form is the REST protocol.
func staged(updates []table.Update) *stagedSnapshot {
	for _, u := range updates {
		if u.Action() != table.UpdateAddSnapshot {
			continue
		}
		text, err := json.Marshal(u)
		if err != nil {
			return nil
		}
		var update struct {
			Snapshot *stagedSnapshot `json:"snapshot"`
		}
		if err := json.Unmarshal(text, &update); err != nil {
			return nil
		}
		return update.Snapshot
	}
	return nil
}

// settled says that the attempt, which the table did not hold when it was looked at afterwards, is over: nothing of it
// is still on its way.
func (a *attempt) settled(c *catalog.Catalog) bool {
	return a.returned && c.Synchronous()
}

// discard removes the manifests and the manifest list of an attempt that did not commit. It is best effort: what stays is
// for orphan removal to find.
func (a *attempt) discard(ctx context.Context) {
	if a.snapshot == nil || a.snapshot.ManifestList == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	fs, err := a.base.FS(ctx)
	if err != nil {
		return
	}
	snapshot := table.Snapshot{SnapshotID: a.snapshot.ID, ManifestList: a.snapshot.ManifestList}
	manifests, err := snapshot.Manifests(fs)
	if err != nil {
		return
	}
	for _, m := range manifests {
		if m.SnapshotID() == a.snapshot.ID {
			_ = fs.Remove(m.FilePath())
		}
	}
	_ = fs.Remove(a.snapshot.ManifestList)
}
