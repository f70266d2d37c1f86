// Package object makes the objects of a table's storage readable by DuckDB, which opens local files and nothing else:
// remote objects are fetched through iceberg-go's FileIO into a bounded cache, in parallel ranges, and local files are
// used in place or linked into the cache, because an executor's DuckDB is sandboxed to a few directories.
//
// A file once handed out never changes, and stays until it is released. Credentials stay in the FileIO. The package
// may not import catalogs or DuckDB. Start with store.go.
package object
