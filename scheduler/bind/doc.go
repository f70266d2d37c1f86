// Package bind turns the text of a query into a plan. DuckDB parses, binds and optimises it over stand-ins for the
// catalog's tables (views over a table function that knows columns and row counts but has no rows), hands the bound plan
// out as JSON, and the package reads that into package plan.
//
// The ladder, when something cannot be expressed: the optimised plan; the plan as bound, with correlated subqueries as
// lateral joins; the whole statement as its own text with its table references replaced.
//
// It never asks a catalog: tables come from a Resolver. It never reads data, but for the columns of files that a statement
// reads by functions (readers.go), which are tables from then on. Read binder.go first, then import.go (JSON to plan) and
// references.go (the tables of a text).
package bind
