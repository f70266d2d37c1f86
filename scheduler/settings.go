package scheduler

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/scheduler/planner"
)

// QueryOptions are the choices of [query] in the configuration; a session may change them with SET.
type QueryOptions struct {
	// Timeout bounds a statement; 0 is no bound.
	Timeout time.Duration
	// DistributionThreshold is the bytes of scanned columns below which a statement runs whole in one task. 0 forces
	// distribution.
	DistributionThreshold int64
	// TargetTaskSize is the bytes of table data that a scan task should read.
	TargetTaskSize int64
	// BroadcastThreshold is the estimated bytes up to which a join side is sent to every task; 0 or less: never.
	BroadcastThreshold int64
	// ShufflePartitions is the number of partitions of an exchange; 0: as many as slots.
	ShufflePartitions int
	// MaxPartitionsPerTask bounds the partitions that one task reads; 0: no bound.
	MaxPartitionsPerTask int
	// Adaptive says which decisions go by the real sizes of what earlier stages wrote.
	Adaptive planner.Adaptive
	// KeyRanges lets scans be divided by ranges of a key.
	KeyRanges bool
	// MaxResultRows fails a query that returns more rows; 0: no bound.
	MaxResultRows int64
}

// setting changes an option to a value as SET gives it.
type setting func(o *QueryOptions, value string) error

// bytesSetting takes sizes of at least least; below 0 means -1, which sizes do not have.
func bytesSetting(field func(*QueryOptions) *int64, least int64) setting {
	return func(o *QueryOptions, value string) error {
		if least < 0 && strings.TrimSpace(value) == "-1" {
			*field(o) = -1
			return nil
		}
		b, err := config.ParseBytes(value)
		if err != nil {
			return err
		}
		if int64(b) < least {
			return fmt.Errorf("%q is too small", value)
		}
		*field(o) = int64(b)
		return nil
	}
}

// countSetting takes whole numbers from 0 to most.
func countSetting(most int64, set func(*QueryOptions, int64)) setting {
	return func(o *QueryOptions, value string) error {
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil || n < 0 || n > most {
			return fmt.Errorf("%q is not a whole number from 0 to %d", value, most)
		}
		set(o, n)
		return nil
	}
}

// switchSetting takes what DuckDB takes for a BOOLEAN.
func switchSetting(field func(*QueryOptions) *bool) setting {
	return func(o *QueryOptions, value string) error {
		switch strings.ToLower(strings.TrimSpace(value)) {
		case "true", "on", "1", "t", "yes":
			*field(o) = true
		case "false", "off", "0", "f", "no":
			*field(o) = false
		default:
			return fmt.Errorf("%q is neither true nor false", value)
		}
		return nil
	}
}

// querySettings are Serac's own settings by name.
var querySettings = map[string]setting{
	"timeout_secs":            countSetting(math.MaxInt32, func(o *QueryOptions, n int64) { o.Timeout = time.Duration(n) * time.Second }),
	"distribution_threshold":  bytesSetting(func(o *QueryOptions) *int64 { return &o.DistributionThreshold }, 0),
	"target_task_size":        bytesSetting(func(o *QueryOptions) *int64 { return &o.TargetTaskSize }, 1),
	"broadcast_threshold":     bytesSetting(func(o *QueryOptions) *int64 { return &o.BroadcastThreshold }, -1),
	"shuffle_partitions":      countSetting(config.MaxShufflePartitions, func(o *QueryOptions, n int64) { o.ShufflePartitions = int(n) }),
	"max_partitions_per_task": countSetting(math.MaxInt32, func(o *QueryOptions, n int64) { o.MaxPartitionsPerTask = int(n) }),
	"adaptive_coalesce":       switchSetting(func(o *QueryOptions) *bool { return &o.Adaptive.Coalesce }),
	"adaptive_broadcast":      switchSetting(func(o *QueryOptions) *bool { return &o.Adaptive.Broadcast }),
	"adaptive_empty":          switchSetting(func(o *QueryOptions) *bool { return &o.Adaptive.Empty }),
	"adaptive_skew":           switchSetting(func(o *QueryOptions) *bool { return &o.Adaptive.Skew }),
	"join_filters":            switchSetting(func(o *QueryOptions) *bool { return &o.Adaptive.Filters }),
	"key_ranges":              switchSetting(func(o *QueryOptions) *bool { return &o.KeyRanges }),
	"max_result_rows":         countSetting(math.MaxInt64, func(o *QueryOptions, n int64) { o.MaxResultRows = n }),
}

// fixedSettings are keys of [query] that a session cannot change.
var fixedSettings = []string{"allow_file_functions", "file_function_prefixes"}

// settingName is the canonical name of a setting, or an error that lists those there are.
func settingName(name string) (string, error) {
	canonical := strings.TrimPrefix(strings.ToLower(name), "query.")
	if _, ok := querySettings[canonical]; ok || slices.Contains(duckdb.SessionSettings, canonical) {
		return canonical, nil
	}
	if slices.Contains(fixedSettings, canonical) {
		return "", statementError("setting %q is the configuration's: SET cannot change it", name)
	}
	known := append(slices.Sorted(maps.Keys(querySettings)), duckdb.SessionSettings...)
	return "", statementError("unknown setting %q: SET accepts %s", name, strings.Join(known, ", "))
}

// optionsOf are the query options of a session, and its settings for DuckDB.
func (s *Scheduler) optionsOf(settings map[string]string) (QueryOptions, map[string]string, error) {
	o, forDuckDB := s.opts.Query, map[string]string{}
	for name, value := range settings {
		own, ok := querySettings[name]
		if !ok {
			forDuckDB[name] = value
			continue
		}
		if err := own(&o, value); err != nil {
			return o, nil, statementError("setting %s: %v", name, err)
		}
	}
	return o, forDuckDB, nil
}
