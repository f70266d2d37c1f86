package cluster

import (
	"errors"

	"google.golang.org/grpc"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Cluster is the executors that are attached now and the jobs that run on them. It is safe for concurrent use.
type Cluster struct {
	seracv1.UnimplementedSchedulerServiceServer
	o Options
}

// ExecutorInfo describes an attached executor.
type ExecutorInfo struct {
	ID            string
	FlightAddress string
	HostID        string
	Version       string
	Slots         int
	MemoryBytes   int64
	Draining      bool
	// TasksRunning are the attempts launched and not over.
	TasksRunning int
	// As of the last heartbeat.
	MemoryUsedBytes, SpillBytes int64
}

var errClosed = errors.New("the cluster is closed")

// New makes a cluster without executors. Close it.
func New(o Options) *Cluster { return &Cluster{o: o.withDefaults()} }

// Register adds the service that executors dial to a gRPC server.
func (c *Cluster) Register(r grpc.ServiceRegistrar) { seracv1.RegisterSchedulerServiceServer(r, c) }

// Executors are the attached executors, sorted by id.
func (c *Cluster) Executors() []ExecutorInfo { return nil }

// Slots is the number of tasks that the attached executors can run at once; draining ones do not count.
func (c *Cluster) Slots() int { return 0 }

// Close fails all runs and ends all executors' streams.
func (c *Cluster) Close() {}
