// Package fileaccess says which of DuckDB's table functions may be called, which of them read files, and which files a
// statement may read with them: [query] allow_file_functions and file_function_prefixes.
//
// The binder asks it before a statement is planned, and an executor again before it reads, by its own configuration.
// Behind both stands DuckDB's own lock (allowed_directories), which looks at files when they are opened. The package
// opens no file and knows no DuckDB: start with policy.go, then functions.go.
package fileaccess
