// Package customformat is a small table format built into Serac: CSV files that a manifest in JSON lists. It is the
// documentation of how a format is added; README.md walks through it.
//
//	manifest.go   the format itself: what a manifest says, and what is wrong with one
//	catalog.go    on the scheduler: a folder of manifests as a catalog, and a scan as its splits
//	scan.go       the leaf that stands for a scan in the plan, and its codec
//	read.go       on an executor: the SELECT that reads the files of a task
//	format.go     the four together
//	scanpb        the messages
//	serac         a serac binary with the format built in
package customformat
