// Package wire holds what travels between processes in place of a live object: tables as identifier, metadata location and
// storage configuration (Table), typed errors (Failure), and secrets that never print (Secret, FileIO). Tables rebuilds
// iceberg-go tables from what travelled, without a catalog.
//
// It imports the generated messages (package seracv1) and iceberg-go, and nothing else of Serac. It knows no catalog: a
// rebuilt table refuses to refresh and to commit.
//
// Read failure.go, fileio.go and table.go; plans travel through package codec.
package wire
