package simulate

import (
	"os"

	"github.com/seracdb/serac/scheduler/planner"
)

// Setting is a way in which a plan is distributed.
type Setting struct {
	planner.Options
	// Files: stages exchange real shuffle files instead of tables.
	Files bool
	// Adaptive: stages run while later ones are planned, by the real sizes.
	Adaptive bool
}

// Settings vary what the answer may not depend on: slots, partitions, partitions per task, broadcasts, adaptive rules.
var Settings = []Setting{
	{Options: planner.Options{Slots: 4, ShufflePartitions: 7, TargetTaskSize: 1 << 10, BroadcastThreshold: -1, EarlyAlways: true}},
	{Options: planner.Options{Slots: 4, ShufflePartitions: 2, TargetTaskSize: 1 << 10, MaxPartitionsPerTask: 1}},
	{Options: planner.Options{Slots: 3, ShufflePartitions: 7, TargetTaskSize: 1 << 10, BroadcastThreshold: 1 << 40, EarlyAlways: true}},
	{Options: planner.Options{Slots: 4, ShufflePartitions: 3, TargetTaskSize: 1 << 10, BroadcastThreshold: -1}, Files: true},
	{Options: planner.Options{Slots: 2, ShufflePartitions: 1, TargetTaskSize: 1 << 10, BroadcastThreshold: -1, MaxPartitionsPerTask: 1}},
	{Options: planner.Options{Slots: 4, ShufflePartitions: 3, TargetTaskSize: 1 << 10, KeyRanges: true, RangesAlways: true}},
	{Adaptive: true, Options: planner.Options{
		Slots: 3, ShufflePartitions: 2, TargetTaskSize: 1 << 10, BroadcastThreshold: 3000, Adaptive: planner.AllAdaptive, KeyRanges: true, RangesAlways: true,
		EarlyAlways: true,
	}},
	{Options: planner.Options{Slots: 1, ShufflePartitions: 1, TargetTaskSize: 1 << 20}},
	{Adaptive: true, Options: planner.Options{
		Slots: 4, ShufflePartitions: 7, TargetTaskSize: 1 << 10, BroadcastThreshold: -1, Adaptive: planner.AllAdaptive, SplitAlways: true,
	}},
	{Adaptive: true, Options: planner.Options{Slots: 3, ShufflePartitions: 2, TargetTaskSize: 1 << 10, BroadcastThreshold: 3000, Adaptive: planner.AllAdaptive}},
}

// Turn is the settings for a test's n-th statement: two, in turn; with SERAC_TEST_ALL=1 all of them.
func Turn(n int) []Setting {
	if os.Getenv("SERAC_TEST_ALL") != "" {
		return Settings
	}
	first := n % len(Settings)
	return []Setting{Settings[first], Settings[(first+1+n%(len(Settings)-1))%len(Settings)]}
}
