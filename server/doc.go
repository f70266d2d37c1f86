// Package server assembles processes from a configuration: a scheduler, an executor, or both in one process. It owns
// listeners and the order in which parts start and stop, and nothing else; cmd/serac calls it, and tests do.
package server
