package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/scheduler/cluster"
)

func TestSettings(t *testing.T) {
	s := New(Options{Cluster: newCluster(t), Query: QueryOptions{TargetTaskSize: 1, MaxResultRows: 7}})
	o, forDuckDB, err := s.optionsOf(map[string]string{
		"timeout_secs": "60", "distribution_threshold": "0B", "target_task_size": "64MiB", "broadcast_threshold": "-1",
		"shuffle_partitions": "4096", "max_partitions_per_task": "3", "timezone": "UTC",
	})
	require.NoError(t, err)
	require.Equal(t, QueryOptions{
		Timeout: time.Minute, TargetTaskSize: 64 << 20, BroadcastThreshold: -1, ShufflePartitions: 4096, MaxPartitionsPerTask: 3,
		MaxResultRows: 7,
	}, o)
	require.Equal(t, map[string]string{"timezone": "UTC"}, forDuckDB)

	for name, values := range map[string][]string{
		"timeout_secs":           {"-1", "1.5", "", "99999999999"},
		"distribution_threshold": {"-1", "much"},
		"target_task_size":       {"0", "-1", "0B"},
		"broadcast_threshold":    {"-2"},
		"shuffle_partitions":     {"4097", "-1"},
	} {
		for _, value := range values {
			_, _, err := s.optionsOf(map[string]string{name: value})
			require.ErrorContains(t, err, "setting "+name, value)
		}
	}
}

// A size of 0 is "never", where the planner takes 0 for its own default.
func TestBroadcastThresholdOfZero(t *testing.T) {
	for threshold, want := range map[int64]int64{0: -1, -1: -1, 5: 5} {
		st := &statement{Scheduler: New(Options{Cluster: newCluster(t)}), options: QueryOptions{BroadcastThreshold: threshold}}
		require.Equal(t, want, st.plannerOptions().BroadcastThreshold)
	}
}

func newCluster(t *testing.T) *cluster.Cluster {
	c := cluster.New(cluster.Options{})
	t.Cleanup(c.Close)
	return c
}
