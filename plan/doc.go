// Package plan holds Serac's own query plan: typed nodes, typed expressions, types and schemas.
//
// A plan is executable at every step: the undistributed plan run as one task gives the same rows as any distribution of
// it. Distribution only inserts exchanges (ShuffleWrite at the root of a stage, ShuffleRead at its leaves); it never
// changes what a node means.
//
// Columns are addressed by position. Expressions of a node refer to the columns of its input (for joins: the left
// input's columns, then the right input's). Nothing in a plan is a live object: tables and files are named by keys, and
// what stands behind a key travels beside the plan (package wire).
//
// The package imports nothing else of Serac. Read node.go first, then expr.go and type.go; render/ turns a plan into
// DuckDB SQL and explain.go into text.
package plan
