// Package duckdb is the one place that knows DuckDB's bindings: sandboxed in-memory databases, connections whose every
// call stops when its context ends, results streamed as Arrow record batches, scalar functions over raw vectors, and the
// stub table function that stands for an Iceberg table while a statement is planned.
//
// The scheduler's planner and the executors both open their databases here. The package knows nothing of Serac's plans,
// tables or wire messages: SQL goes in as text, rows come out.
//
// It works on the C API's bindings and not on database/sql, because database/sql materialises every result in memory,
// beyond memory_limit; Conn.Run does so for results of few rows, which cost less that way. Start with db.go, then conn.go
// and stream.go; interrupt.go says how a done context reaches DuckDB.
package duckdb
