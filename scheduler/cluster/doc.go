// Package cluster holds the executors and runs jobs on them.
//
// It is what surrounds the pure state machine of package job: executors attach over gRPC (attach.go), are placed on
// (placement.go), counted as lost in one place (Cluster.lose), and their result streams are pulled for the client
// (fetch.go) and read in order (result.go). It knows nothing of SQL, plans or catalogs: a job comes as fragments in bytes
// with assignments.
//
// One mutex guards executors, runs and their machines; nothing under it blocks. Messages to an executor go through a
// bounded queue that a goroutine of its stream empties; an executor that lets it fill up is lost.
//
// Read options.go and run.go first, then cluster.go.
package cluster
