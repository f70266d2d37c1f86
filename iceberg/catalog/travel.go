package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// Version is a table as one of its snapshots has it.
type Version struct {
	SnapshotID int64
	// Columns are of the schema that the snapshot was written with.
	Columns []plan.ScanColumn
	// Rows and Bytes are by the snapshot's summary; -1 when unknown.
	Rows, Bytes int64
}

func (t *Table) version(s *table.Snapshot) (Version, error) {
	schema := t.ice.Schema()
	if s.SchemaID != nil {
		if own, ok := t.ice.Schemas()[*s.SchemaID]; ok {
			schema = own
		}
	}
	columns, err := iceberg.Columns(schema)
	if err != nil {
		return Version{}, fmt.Errorf("snapshot %d: %w", s.SnapshotID, err)
	}
	v := Version{SnapshotID: s.SnapshotID, Columns: columns}
	v.Rows, v.Bytes = summarySize(s)
	return v, nil
}

// AsOfSnapshot is the version of a snapshot by its id.
func (t *Table) AsOfSnapshot(id int64) (Version, error) {
	if s := t.ice.SnapshotByID(id); s != nil {
		return t.version(s)
	}
	return Version{}, fmt.Errorf("there is no snapshot %d (it may have expired); there %s", id, t.snapshotList())
}

// AsOfRef is the version that a branch or a tag names; a name of digits alone may be a snapshot's id.
func (t *Table) AsOfRef(name string) (Version, error) {
	var names []string
	for ref, at := range t.ice.Metadata().Refs() {
		if ref == name {
			return t.AsOfSnapshot(at.SnapshotID)
		}
		names = append(names, fmt.Sprintf("%s (%s)", ref, at.SnapshotRefType))
	}
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		return t.AsOfSnapshot(id)
	}
	if len(names) == 0 {
		return Version{}, fmt.Errorf("there is no branch or tag %q, nor any other", name)
	}
	slices.Sort(names)
	return Version{}, fmt.Errorf("there is no branch or tag %q; there are: %s", name, bounded(names, strings.TrimSpace))
}

// AsOfTime is the version that was current at a time, in microseconds since 1970.
func (t *Table) AsOfTime(micros int64) (Version, error) {
	at := time.UnixMicro(micros)
	id, first, found := int64(0), int64(0), false
	for entry := range t.ice.Metadata().SnapshotLogs() {
		if first == 0 {
			first = entry.TimestampMs
		}
		if entry.TimestampMs <= at.UnixMilli() {
			id, found = entry.SnapshotID, true
		}
	}
	switch {
	case found && t.ice.SnapshotByID(id) == nil:
		return Version{}, fmt.Errorf("the snapshot of %s, %d, has expired; there %s", timeText(at), id, t.snapshotList())
	case found:
		return t.AsOfSnapshot(id)
	case first == 0:
		return Version{}, fmt.Errorf("there is no snapshot of %s, nor any other", timeText(at))
	}
	return Version{}, fmt.Errorf("there is no snapshot as old as %s: the first is of %s", timeText(at), timeText(time.UnixMilli(first)))
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999Z07:00") }

// maxListed bounds what an error lists.
const maxListed = 10

// snapshotList tells which snapshots there are, the latest first.
func (t *Table) snapshotList() string {
	all := slices.Clone(t.ice.Metadata().Snapshots())
	if len(all) == 0 {
		return "are none"
	}
	slices.SortStableFunc(all, func(a, b table.Snapshot) int { return int(b.SequenceNumber - a.SequenceNumber) })
	return "are: " + bounded(all, func(s table.Snapshot) string {
		return fmt.Sprintf("%d (%s)", s.SnapshotID, timeText(time.UnixMilli(s.TimestampMs)))
	})
}

func bounded[T any](all []T, text func(T) string) string {
	shown := all[:min(len(all), maxListed)]
	texts := make([]string, len(shown))
	for i, v := range shown {
		texts[i] = text(v)
	}
	list := strings.Join(texts, ", ")
	if more := len(all) - len(shown); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
