// Package render turns a plan into DuckDB SQL: one nested SELECT per operator, output columns named c0..cN-1, so that
// DuckDB itself optimises the text again. It writes text only; it runs nothing and knows no files. What a leaf reads is
// the caller's matter (Options.Leaf).
//
// Every constant is written with its type, every null order explicitly, every function with the arguments that the
// binder had erased: the text binds to the same types as the plan it came from.
//
// Read render.go first, then join.go and delim.go (the subquery joins) and decimal.go (result types of arithmetic).
package render
