package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seracdb/serac/config"
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
	// BroadcastThreshold is the estimated bytes up to which a join side is sent to every task; negative: never.
	BroadcastThreshold int64
	// ShufflePartitions is the number of partitions of an exchange; 0: as many as slots.
	ShufflePartitions int
	// MaxPartitionsPerTask bounds the partitions that one task reads; 0: no bound.
	MaxPartitionsPerTask int
	// MaxResultRows fails a query that returns more rows; 0: no bound.
	MaxResultRows int64
}

// setting is a name that SET accepts and what it changes.
type setting struct {
	apply func(o *QueryOptions, value string) error
	show  func(o QueryOptions) string
}

func bytesSetting(field func(*QueryOptions) *int64) setting {
	return setting{
		apply: func(o *QueryOptions, value string) error {
			if strings.TrimSpace(value) == "-1" {
				*field(o) = -1
				return nil
			}
			b, err := config.ParseBytes(value)
			*field(o) = int64(b)
			return err
		},
		show: func(o QueryOptions) string {
			if v := *field(&o); v >= 0 {
				return config.Bytes(v).String()
			}
			return "-1"
		},
	}
}

func countSetting(get func(QueryOptions) int64, set func(*QueryOptions, int64)) setting {
	return setting{
		apply: func(o *QueryOptions, value string) error {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
			if err != nil || n < 0 {
				return fmt.Errorf("%q is not a whole number of 0 or more", value)
			}
			set(o, n)
			return nil
		},
		show: func(o QueryOptions) string { return strconv.FormatInt(get(o), 10) },
	}
}

// querySettings are Serac's own settings by name.
var querySettings = map[string]setting{
	"timeout_secs": countSetting(
		func(o QueryOptions) int64 { return int64(o.Timeout / time.Second) },
		func(o *QueryOptions, n int64) { o.Timeout = time.Duration(n) * time.Second }),
	"distribution_threshold": bytesSetting(func(o *QueryOptions) *int64 { return &o.DistributionThreshold }),
	"target_task_size":       bytesSetting(func(o *QueryOptions) *int64 { return &o.TargetTaskSize }),
	"broadcast_threshold":    bytesSetting(func(o *QueryOptions) *int64 { return &o.BroadcastThreshold }),
	"shuffle_partitions": countSetting(
		func(o QueryOptions) int64 { return int64(o.ShufflePartitions) },
		func(o *QueryOptions, n int64) { o.ShufflePartitions = int(n) }),
	"max_partitions_per_task": countSetting(
		func(o QueryOptions) int64 { return int64(o.MaxPartitionsPerTask) },
		func(o *QueryOptions, n int64) { o.MaxPartitionsPerTask = int(n) }),
	"max_result_rows": countSetting(
		func(o QueryOptions) int64 { return o.MaxResultRows },
		func(o *QueryOptions, n int64) { o.MaxResultRows = n }),
}

// engineSettings are the settings of DuckDB that change what a statement means, and so go to the binder and to every
// task. Others would differ between tasks or weaken the sandbox.
var engineSettings = []string{"timezone", "calendar", "default_collation", "default_null_order", "default_order", "null_order"}

// settingName is the canonical name of a setting, or an error that lists those there are.
func settingName(name string) (string, error) {
	canonical := strings.TrimPrefix(strings.ToLower(name), "query.")
	if _, ok := querySettings[canonical]; ok || slices.Contains(engineSettings, canonical) {
		return canonical, nil
	}
	known := append(slices.Sorted(maps.Keys(querySettings)), engineSettings...)
	return "", statementError("unknown setting %q: SET accepts %s", name, strings.Join(known, ", "))
}

// options are the query options of a session, and its settings for DuckDB.
func (s *Scheduler) optionsOf(settings map[string]string) (QueryOptions, map[string]string, error) {
	o, forDuckDB := s.opts.Query, map[string]string{}
	for name, value := range settings {
		own, ok := querySettings[name]
		if !ok {
			forDuckDB[name] = value
			continue
		}
		if err := own.apply(&o, value); err != nil {
			return o, nil, statementError("setting %s: %v", name, err)
		}
	}
	return o, forDuckDB, nil
}
