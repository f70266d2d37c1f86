// Package tpch makes data like that of the TPC-H benchmark (specification 3.0.1), at any scale factor, for tests and
// benchmarks: its schema, key structure, value domains and skews, and its 22 queries. It is not the benchmark's own
// generator: values differ, and results are not TPC results.
//
// The generator is SQL in DuckDB's dialect over range(), so whatever runs SQL makes the data itself, in parallel: Serac's
// executors by InsertSQL, DuckDB by CreateIn. Every value is a hash of its row's key and its column, so any chunk of a
// table can be made alone, and always comes out the same (with one version of DuckDB: its hash() is not promised to
// stay). Foreign keys hold without looking at the other table, because both sides compute the same formula.
//
// Read on in tables.go (the schema), then rows.go (a SELECT per table), then sql.go (the pieces they are made of).
package tpch
