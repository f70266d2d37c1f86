// Package task runs one attempt at one task: it decodes the fragment, brings what the assignments name to where DuckDB may
// read it, renders the plan to SQL with these in the place of its leaves, and runs that into the fragment's sink: shuffle
// files, data files, or a result that a reader fetches.
//
// What an attempt reads is exactly its assignments: a leaf without one reads nothing, and an assignment that no leaf asks
// for is an error. Everything an attempt put on disk or in the table's storage goes when it fails or is cancelled.
//
// Read runner.go first, then leaves.go and the sinks: shuffle.go, write.go, result.go. engine.go has the DuckDB that
// all attempts share.
package task
