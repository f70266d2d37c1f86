package config

// Config is the whole configuration. A process reads only the sections that concern it, but all are checked.
type Config struct {
	// The process that clients and executors connect to.
	Scheduler Scheduler `toml:"scheduler"`
	// The processes that run tasks.
	Executor Executor `toml:"executor"`
	// What scheduler and executors share.
	Cluster Cluster `toml:"cluster"`
	// The Iceberg catalog.
	Catalog Catalog `toml:"catalog"`
	// The object storage that tables live in. Local paths need none of it.
	Storage Storage `toml:"storage"`
	// How statements run. A session can change these with SET.
	Query Query `toml:"query"`
	// What a process writes about itself to standard error.
	Log Log `toml:"log"`
	// Catalogs of other table formats, by their names in SQL.
	Catalogs map[string]FormatCatalog `toml:"-"`
}

// Scheduler is where the scheduler listens. Nothing authenticates clients: keep it on loopback or a private network.
// Executors are authenticated by cluster.secret.
type Scheduler struct {
	// Address to listen on for clients (Arrow Flight SQL).
	FlightSQLHost string `toml:"flight_sql_host" default:"127.0.0.1"`
	// Port to listen on for clients; 0 takes a free one.
	FlightSQLPort int `toml:"flight_sql_port" default:"50051"`
	// Address to listen on for executors.
	ExecutorHost string `toml:"executor_host" default:"127.0.0.1"`
	// Port to listen on for executors; 0 takes a free one.
	ExecutorPort int `toml:"executor_port" default:"50050"`
	// A table's metadata up to this size travels to the executors with each plan that names the table; larger metadata (about
	// 0.7 KB a snapshot) is read by them from its location, once. 0 means that it never travels.
	InlineMetadataLimit Bytes `toml:"inline_metadata_limit" default:"64KiB"`
	// Memory for what has been read of tables' manifests, kept for the statements that follow (about 2 KiB a data file). 0 means
	// that each statement reads them.
	ManifestCacheLimit Bytes `toml:"manifest_cache_limit" default:"256MiB"`
	// Number of statements that execute at the same time; further ones wait, and sessions take turns. 0 means four for each
	// slot of the executors. Planning, SHOW, SET and DDL do not wait.
	MaxRunningStatements int `toml:"max_running_statements" default:"0"`
	// Number of statements that may wait to execute; one more is refused with the error that the scheduler is busy.
	MaxQueuedStatements int `toml:"max_queued_statements" default:"1000"`
	// Seconds that running statements have to end once the process is told to stop; after that they are cancelled.
	DrainTimeoutSecs int `toml:"drain_timeout_secs" default:"20"`
}

// Executor is one executor's own settings.
type Executor struct {
	// The scheduler to register with, as host:port of its executor_port.
	Scheduler string `toml:"scheduler" default:"127.0.0.1:50050"`
	// Address to listen on for results and shuffle files (Arrow Flight).
	FlightHost string `toml:"flight_host" default:"127.0.0.1"`
	// Port to listen on for results and shuffle files; 0 takes a free one.
	FlightPort int `toml:"flight_port" default:"50052"`
	// Address at which the scheduler and the other executors reach this one, as grpc://host:port or host:port. Empty: what
	// it listens on. It must be set when flight_host is a wildcard such as 0.0.0.0, and cannot itself be one.
	AdvertiseURL string `toml:"advertise_url" default:""`
	// Name of the host. Executors of one host read each other's shuffle files in place, those of different hosts over the
	// network: give executors different ones that share a machine and not their spill_dir, as containers may. Empty: the
	// machine's name and the id of its boot.
	HostID string `toml:"host_id" default:""`
	// Number of tasks that run at the same time, and of threads that they share; 0 takes the number of CPUs.
	Slots int `toml:"slots" default:"0"`
	// Memory that the process may use for queries, shared by its tasks; 0 takes half of the machine's (or container's).
	MemoryLimit Bytes `toml:"memory_limit" default:"0"`
	// Directory for shuffle files and for what does not fit in memory. Empty: a directory under the system's temporary one
	// (in serac serve: under its data directory). The executor owns what is in it and removes it.
	SpillDir string `toml:"spill_dir" default:""`
	// Seconds between two signs of life to the scheduler, which counts the executor as lost after several missed ones.
	HeartbeatIntervalSecs int `toml:"heartbeat_interval_secs" default:"5"`
}

// Cluster is the same on the scheduler and on all of its executors.
type Cluster struct {
	// A shared secret by which scheduler and executors authenticate each other's messages; without it whoever reaches their
	// ports can be an executor. It does not encrypt. Empty: off.
	Secret Secret `toml:"secret" default:""`
	// A file that holds the secret, instead of secret; white space around it does not count.
	SecretFile string `toml:"secret_file" default:""`
}

// Catalog says where tables are registered.
type Catalog struct {
	// Name of the catalog in SQL.
	Name string `toml:"name" default:"serac"`
	// Kind of catalog: sqlite (a file), rest (an Iceberg REST server) or hadoop (a directory).
	Type string `toml:"type" default:"sqlite"`
	// sqlite: the database file; rest: the server's URL. Empty: a file under the data directory (sqlite only).
	URI string `toml:"uri" default:""`
	// Location under which new tables are created: a path, file:// or s3:// URL; for rest, the warehouse's name. Empty: a
	// directory under the data directory (sqlite only), or the REST server's default.
	Warehouse string `toml:"warehouse" default:""`
	// rest: what the scheduler logs in with, as client_id:client_secret. It gets tokens for it, and new ones before they expire.
	Credential Secret `toml:"credential" default:""`
	// rest: a bearer token, instead of a credential.
	Token Secret `toml:"token" default:""`
	// rest: the OAuth2 scope to ask for. Empty: catalog.
	Scope string `toml:"scope" default:""`
	// rest: the URL that gives tokens. Empty: the catalog server's own.
	OAuth2ServerURI string `toml:"oauth2_server_uri" default:""`
}

// Storage is S3 or something that speaks its protocol.
type Storage struct {
	// URL of the server. Empty: AWS.
	S3Endpoint string `toml:"s3_endpoint" default:""`
	// Region of the buckets.
	S3Region string `toml:"s3_region" default:""`
	// Access key id. Empty: the AWS default chain (environment, profile, instance role).
	S3AccessKey Secret `toml:"s3_access_key" default:""`
	// Secret access key.
	S3SecretKey Secret `toml:"s3_secret_key" default:""`
	// Address buckets as path (http://host/bucket) instead of as host name (http://bucket.host), as most servers other than
	// AWS need.
	S3PathStyle bool `toml:"s3_path_style" default:"true"`
	// Allow an s3_endpoint without TLS.
	S3AllowHTTP bool `toml:"s3_allow_http" default:"false"`
}

// Query is how statements run.
type Query struct {
	// Seconds after which a statement is cancelled; 0 means never.
	TimeoutSecs int `toml:"timeout_secs" default:"300"`
	// A statement that reads less than this, in compressed bytes of the columns it needs, runs as one task on one executor; 0
	// distributes every statement that can be.
	DistributionThreshold Bytes `toml:"distribution_threshold" default:"128MB"`
	// Compressed bytes that one scan task should read.
	TargetTaskSize Bytes `toml:"target_task_size" default:"256MB"`
	// Size of its decoded rows up to which one side of a join may be sent to every task of the other side, where that takes
	// less than shuffling both; by estimate, or as it turns out. 0 means never.
	BroadcastThreshold Bytes `toml:"broadcast_threshold" default:"32MB"`
	// Number of partitions of a shuffle, at most 4096; 0 follows the number of slots.
	ShufflePartitions int `toml:"shuffle_partitions" default:"0"`
	// Number of scan or shuffle partitions that one task may take over; 0 means any number.
	MaxPartitionsPerTask int `toml:"max_partitions_per_task" default:"0"`
	// Pack small shuffle partitions into fewer tasks, by their real sizes.
	AdaptiveCoalesce bool `toml:"adaptive_coalesce" default:"true"`
	// Decide how a join runs by the real size of its smaller side.
	AdaptiveBroadcast bool `toml:"adaptive_broadcast" default:"true"`
	// End the work of a join early when its smaller side turns out to have no rows.
	AdaptiveEmpty bool `toml:"adaptive_empty" default:"true"`
	// Spread a shuffle partition that is much larger than the others over several tasks.
	AdaptiveSkew bool `toml:"adaptive_skew" default:"true"`
	// Let the keys of a join's finished side drop files, row groups and rows of the other side before they are shuffled.
	JoinFilters bool `toml:"join_filters" default:"true"`
	// Divide scans between tasks by ranges of a join's or group's key instead of by files, where the bounds of the files' values
	// show that this saves shuffling them.
	KeyRanges bool `toml:"key_ranges" default:"true"`
	// A query with more result rows than this fails; 0 means no limit.
	MaxResultRows int64 `toml:"max_result_rows" default:"0"`
	// Let statements call table functions that read files (read_csv, read_parquet, glob ...) or name files after FROM. It must
	// be set for the scheduler and for every executor, all of which must find the same files at the same paths; SET cannot
	// change it.
	AllowFileFunctions bool `toml:"allow_file_functions" default:"false"`
	// Directories below which such functions may read, as absolute paths or file:// URLs. With allow_file_functions there must
	// be one at least; SET cannot change it.
	FileFunctionPrefixes []string `toml:"file_function_prefixes" default:""`
}

// Log is the process log.
type Log struct {
	// Least level that is written: debug, info, warn or error.
	Level string `toml:"level" default:"info"`
	// Form of a line: text or json.
	Format string `toml:"format" default:"text"`
}
