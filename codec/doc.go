// Package codec turns plans into bytes and back.
//
// A fragment travels as Substrait relations where Substrait has one of the same meaning, and as Serac's own messages
// (proto/serac/v1/plan.proto) in google.protobuf.Any elsewhere, beside the tables that its scans and writes name. Decoding
// what was encoded gives an equal plan, and encoding is deterministic. Bytes are never trusted: what is cut off, unknown,
// newer, or out of range is an error that names it.
//
// The package knows no Iceberg, no DuckDB and no network. Read fragment.go first, then node.go and expr.go; registry.go
// says how a node of another table format travels; extensions/ lists the functions and types that Substrait has
// no name for.
package codec
