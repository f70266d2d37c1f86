// Package scan plans the files of an Iceberg scan, once per scan, on the scheduler: the snapshot is pinned, files that
// cannot hold a matching row are pruned by partition values and column bounds, and what is left is grouped by size into the
// units that tasks read (rules 9 to 13). Executors never plan a read.
//
// predicate.go turns filters into Iceberg expressions and says what may not be pushed; plan.go plans; source.go gets the
// snapshot's files, from what package manifest keeps of them; prune.go and span.go judge them by their values; residual.go
// finds what of the filter is left for each; group.go splits and groups. Deletes are matched by iceberg-go.
package scan
