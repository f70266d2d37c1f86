// Package commit turns the data files of a statement into one snapshot of a table. The scheduler commits, once per
// statement (rule 23).
//
// The commit id stands in the snapshot's summary (SummaryKey). Before each attempt the table is loaded afresh and its
// snapshots are searched for the id, so an attempt that was made already, or whose answer was lost, is found instead of
// made again. Each attempt demands that the table's head is still the one it started from; an attempt whose outcome is
// unknown can therefore be tried again in safety: of two attempts from one head at most one succeeds.
//
// commit.go is that loop, datafile.go builds and checks iceberg-go's data files, attempt.go stands between iceberg-go's
// transaction and the catalog, files.go removes files that did not make it, and sweep.go finds those that nobody has named.
package commit
