// Package executor runs tasks: it dials the scheduler, holds one stream to it, runs the fragments it is sent in DuckDB,
// and serves what they produce over Arrow Flight.
//
// An executor holds no catalog, no catalog token, and no state that a restart may lose for good. It never plans a read:
// a task says for each leaf exactly what it reads. No row passes through Go, but for result streams.
//
// Where to read on:
//
//   - options.go and executor.go: how an executor is made, run and stopped
//   - attach.go: the stream to the scheduler, with reconnects; session.go: one attachment and its tasks
//   - task/: what one task does, from bytes to its sink
//   - shuffle/: how rows are kept between stages: types, SQL text, files, fetching
//   - flight/: the Flight service and its clients
//   - workdir/: the executor's directory on disk
package executor
