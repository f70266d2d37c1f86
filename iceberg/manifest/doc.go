// Package manifest keeps what manifests say in memory, so that a query that follows another does not read them again. A
// manifest never changes once it is written: the one that is cached is the one that would be read.
//
// cache.go is the cache, bounded by bytes; file.go a data file with its statistics in a compact form; read.go reads
// manifest lists and manifests through the cache. Files are pruned and matched with their deletes in package scan.
package manifest
