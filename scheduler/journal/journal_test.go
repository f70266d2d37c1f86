package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/scheduler/journal"
)

func TestNotesOutliveTheirProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "writes")
	a, left, err := journal.Open(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	one := journal.Entry{Statement: "1", Schema: "s", Table: "t", TableUUID: "u", Created: true}
	require.NoError(t, a.Begin(one))
	require.NoError(t, a.Begin(journal.Entry{Statement: "2", Table: "t"}))
	require.NoError(t, a.End("2"))
	require.NoError(t, a.End("never begun"))

	// While its process lives, nobody takes it over.
	b, left, err := journal.Open(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, b.Close())

	// Once it is gone, the next one does, and again if that one goes before it has seen to it.
	require.NoError(t, a.Close())
	for range 2 {
		c, left, err := journal.Open(dir)
		require.NoError(t, err)
		require.Equal(t, []journal.Entry{one}, left)
		require.NoError(t, c.Close())
	}
	d, left, err := journal.Open(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.NoError(t, d.End("1"))
	require.NoError(t, d.Close())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "the lock alone")
}

func TestNoJournal(t *testing.T) {
	var j *journal.Journal
	require.NoError(t, j.Begin(journal.Entry{Statement: "1"}))
	require.NoError(t, j.End("1"))
	require.NoError(t, j.Close())
}
