// Package admission says how many statements execute at the same time, and which is next: a Gate gives places, and keeps
// a bounded queue in which sessions take turns. It knows nothing of statements. Who holds a place for how long is decided
// in scheduler/execution.go and scheduler/admit.go.
package admission
