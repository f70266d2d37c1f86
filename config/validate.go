package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seracdb/serac/internal/fileaccess"
)

// MaxShufflePartitions is the most partitions of a shuffle: a task has a file open for each while it writes them.
const MaxShufflePartitions = 4096

// MaxInlineMetadata is the largest inline_metadata_limit, in bytes: a plan names several tables, and its message is not split.
const MaxInlineMetadata = 512 << 10

// Validate reports every fault at once.
func (c *Config) Validate() error {
	var faults []error
	fault := func(path, format string, args ...any) {
		faults = append(faults, fmt.Errorf(path+": "+format, args...))
	}
	port := func(path string, value int) {
		if value < 0 || value > 65535 {
			fault(path, "%d is not a port", value)
		}
	}
	notNegative := func(path string, value int64) {
		if value < 0 {
			fault(path, "%d is negative", value)
		}
	}
	oneOf := func(path, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			fault(path, "%q is none of %s", value, strings.Join(allowed, ", "))
		}
	}

	port("scheduler.flight_sql_port", c.Scheduler.FlightSQLPort)
	port("scheduler.executor_port", c.Scheduler.ExecutorPort)
	if c.Scheduler.FlightSQLPort != 0 && c.Scheduler.FlightSQLPort == c.Scheduler.ExecutorPort {
		fault("scheduler.executor_port", "%d is also scheduler.flight_sql_port", c.Scheduler.ExecutorPort)
	}

	if _, _, err := net.SplitHostPort(c.Executor.Scheduler); err != nil {
		fault("executor.scheduler", "%q is not host:port", c.Executor.Scheduler)
	}
	port("executor.flight_port", c.Executor.FlightPort)
	if _, err := c.Executor.Advertise(c.Executor.FlightHost + ":1"); err != nil {
		faults = append(faults, err)
	}
	notNegative("executor.slots", int64(c.Executor.Slots))
	if c.Executor.HeartbeatIntervalSecs < 1 {
		fault("executor.heartbeat_interval_secs", "must be at least 1")
	}

	if c.Cluster.Secret.Reveal() != "" && c.Cluster.SecretFile != "" {
		fault("cluster.secret_file", "cluster.secret is set too; one of them is enough")
	}
	if c.Catalog.Name == "" {
		fault("catalog.name", "must be set")
	}
	oneOf("catalog.type", c.Catalog.Type, "sqlite", "rest", "hadoop")
	switch c.Catalog.Type {
	case "rest":
		u, err := url.Parse(c.Catalog.URI)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			fault("catalog.uri", "a rest catalog needs an http or https URL")
		case u.User != nil:
			fault("catalog.uri", "must not carry credentials, which would be printed")
		}
	case "hadoop":
		if c.Catalog.Warehouse == "" {
			fault("catalog.warehouse", "a hadoop catalog needs one")
		}
	}

	c.validateCatalogs(fault)

	if c.Catalog.Type != "rest" {
		for path, value := range map[string]string{
			"catalog.credential": c.Catalog.Credential.Reveal(), "catalog.token": c.Catalog.Token.Reveal(),
			"catalog.scope": c.Catalog.Scope, "catalog.oauth2_server_uri": c.Catalog.OAuth2ServerURI,
		} {
			if value != "" {
				fault(path, "is for catalogs of type rest")
			}
		}
	}
	if c.Catalog.Credential.Reveal() != "" && c.Catalog.Token.Reveal() != "" {
		fault("catalog.token", "catalog.credential is set too; one of them is enough")
	}

	if e := c.Storage.S3Endpoint; e != "" {
		u, err := url.Parse(e)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			fault("storage.s3_endpoint", "not an http or https URL")
		case u.User != nil:
			fault("storage.s3_endpoint", "must not carry credentials; use s3_access_key and s3_secret_key")
		case u.Scheme == "http" && !c.Storage.S3AllowHTTP:
			fault("storage.s3_endpoint", "%q has no TLS; set storage.s3_allow_http to allow that", e)
		}
	}
	if (c.Storage.S3AccessKey.Reveal() == "") != (c.Storage.S3SecretKey.Reveal() == "") {
		fault("storage.s3_secret_key", "s3_access_key and s3_secret_key must be set together")
	}

	if limit := c.Scheduler.InlineMetadataLimit; limit < 0 || limit > MaxInlineMetadata {
		fault("scheduler.inline_metadata_limit", "%s is not from 0 to %s: messages to executors stay small", limit, Bytes(MaxInlineMetadata))
	}
	notNegative("scheduler.manifest_cache_limit", int64(c.Scheduler.ManifestCacheLimit))
	notNegative("scheduler.max_running_statements", int64(c.Scheduler.MaxRunningStatements))
	notNegative("scheduler.max_queued_statements", int64(c.Scheduler.MaxQueuedStatements))
	notNegative("scheduler.drain_timeout_secs", int64(c.Scheduler.DrainTimeoutSecs))
	notNegative("query.timeout_secs", int64(c.Query.TimeoutSecs))
	if c.Query.TargetTaskSize <= 0 {
		fault("query.target_task_size", "must be more than 0")
	}
	notNegative("query.shuffle_partitions", int64(c.Query.ShufflePartitions))
	if c.Query.ShufflePartitions > MaxShufflePartitions {
		fault("query.shuffle_partitions", "%d is more than %d", c.Query.ShufflePartitions, MaxShufflePartitions)
	}
	notNegative("query.max_partitions_per_task", int64(c.Query.MaxPartitionsPerTask))
	notNegative("query.max_result_rows", c.Query.MaxResultRows)
	if _, err := c.Query.Files(); err != nil {
		fault("query.file_function_prefixes", "%w", err)
	}
	if c.Query.AllowFileFunctions && len(c.Query.FileFunctionPrefixes) == 0 {
		fault("query.allow_file_functions", "set query.file_function_prefixes too: the directories below which files may be read")
	}

	oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	oneOf("log.format", c.Log.Format, "text", "json")
	return errors.Join(faults...)
}

// Files is what statements may read by functions that read files.
func (q Query) Files() (fileaccess.Policy, error) {
	p, err := fileaccess.NewPolicy(q.FileFunctionPrefixes)
	if !q.AllowFileFunctions {
		p = fileaccess.Policy{}
	}
	return p, err
}

// Advertise is the host:port at which others reach the executor that listens on the given address: advertise_url, or
// else the address itself. A wildcard address is refused, since nobody could dial it.
func (e Executor) Advertise(listen string) (string, error) {
	address := strings.TrimSuffix(strings.TrimPrefix(e.AdvertiseURL, "grpc://"), "/")
	if address == "" {
		address = listen
	}
	host, p, err := net.SplitHostPort(address)
	if n, perr := strconv.Atoi(p); err != nil || host == "" && e.AdvertiseURL != "" || perr != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("executor.advertise_url: %q is not grpc://host:port", e.AdvertiseURL)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if e.AdvertiseURL == "" {
			return "", fmt.Errorf("executor.advertise_url: must be set when executor.flight_host is the wildcard %q", e.FlightHost)
		}
		return "", fmt.Errorf("executor.advertise_url: others cannot dial the wildcard address %q", host)
	}
	return address, nil
}
