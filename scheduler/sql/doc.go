// Package sql reads as much of a SQL text as the scheduler must know before DuckDB sees it: where statements begin and
// end, where their parameters are, and the heads of the statements that are about catalogs and tables (CREATE TABLE,
// INSERT INTO, SHOW ...). The dialect is DuckDB's, with the Iceberg type names and the PARTITIONED BY and property
// clauses that DuckDB lacks; spellings of Trino and Spark are understood where they are not ambiguous.
//
// Queries are not parsed here: a Query carries its text, and DuckDB binds it (package bind). Nothing here knows a
// catalog, resolves a name or does I/O, and nothing here panics on any input (see the fuzz tests).
//
// Start with Parse; statement.go lists the statements, token.go the tokens.
package sql
