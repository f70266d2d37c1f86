// Package e2e runs whole systems, as processes, and holds their answers against DuckDB on the same files.
package e2e
