// Package fuzz holds random queries against DuckDB's answers: the generator, the tables it knows, and the shrinking of a query
// that fails. Its tests run the queries in process (tests/simulate) and on processes over Iceberg tables.
//
// A query is made from a tree of choices (choices.go), one node per clause, column, condition and expression. A seed gives the
// tree; the same tree gives the same text. Shrinking works on the tree alone: a node without choices is the simplest thing that
// can stand in its place, so cutting nodes off, and putting a node in the place of one above it, gives smaller queries that are
// still right (shrink.go).
//
// Some of the Iceberg tables have snapshots with position deletes, deletion vectors and equality deletes (deletes_test.go), made by
// iceberg-go. DuckDB's answers to them come from the rows that the generator knows to remain, not from the files.
//
// Only queries whose answer is determined are made: a LIMIT has an order over all columns, an ordered window or aggregate an
// order by a key of the rows, and floating-point numbers are multiples of a quarter, whose sums are exact in any order. What a
// DOUBLE aggregate can give differently (stddev and kin) stays in the last select list, and is compared with a tolerance
// (tests/compare). What slips through is found by running the query again over rows in other orders, and counted.
package fuzz
