package fileaccess

import "strings"

// Kind is what a table function can reach.
type Kind uint8

const (
	// Unknown is no table function of the DuckDB that is built in.
	Unknown Kind = iota
	// Plain has rows made of its arguments, or of what DuckDB knows about itself.
	Plain
	// Reader reads the files that its first argument names: a text, or a list of texts.
	Reader
	// Refused cannot be called; Why says the reason.
	Refused
)

const (
	changesEngine = "it changes the state of an executor's DuckDB"
	asTable       = "DuckDB looks tables up by its argument, past the catalog: write the table's name after FROM"
	engineName    = "there is no such table in the engine's DuckDB: use DESCRIBE"
)

// functions are all table functions and table macros of DuckDB, by their names in lower case. A test compares them with
// those that the built-in DuckDB lists.
var functions = map[string]function{
	"check_peg_parser": {kind: Plain}, "generate_series": {kind: Plain}, "icu_calendar_names": {kind: Plain},
	"json_each": {kind: Plain}, "json_tree": {kind: Plain}, "pg_timezone_names": {kind: Plain}, "range": {kind: Plain},
	"query":  {kind: Plain}, // the binder puts the query in its place
	"repeat": {kind: Plain}, "repeat_row": {kind: Plain}, "summary": {kind: Plain}, "test_all_types": {kind: Plain},
	"test_vector_types": {kind: Plain}, "unnest": {kind: Plain},

	"duckdb_approx_database_count": {kind: Plain}, "duckdb_columns": {kind: Plain}, "duckdb_connection_count": {kind: Plain},
	"duckdb_constraints": {kind: Plain}, "duckdb_coordinate_systems": {kind: Plain}, "duckdb_databases": {kind: Plain},
	"duckdb_dependencies": {kind: Plain}, "duckdb_extensions": {kind: Plain}, "duckdb_external_file_cache": {kind: Plain},
	"duckdb_functions": {kind: Plain}, "duckdb_indexes": {kind: Plain}, "duckdb_keywords": {kind: Plain},
	"duckdb_log_contexts": {kind: Plain}, "duckdb_logs": {kind: Plain}, "duckdb_logs_parsed": {kind: Plain},
	"duckdb_memory": {kind: Plain}, "duckdb_optimizers": {kind: Plain}, "duckdb_prepared_statements": {kind: Plain},
	"duckdb_profiling_settings": {kind: Plain}, "duckdb_schemas": {kind: Plain}, "duckdb_secret_types": {kind: Plain},
	"duckdb_secrets": {kind: Plain}, "duckdb_sequences": {kind: Plain}, "duckdb_settings": {kind: Plain},
	"duckdb_tables": {kind: Plain}, "duckdb_temporary_files": {kind: Plain}, "duckdb_types": {kind: Plain},
	"duckdb_variables": {kind: Plain}, "duckdb_views": {kind: Plain}, "pragma_collations": {kind: Plain},
	"pragma_database_size": {kind: Plain}, "pragma_metadata_info": {kind: Plain}, "pragma_platform": {kind: Plain},
	"pragma_user_agent": {kind: Plain}, "pragma_version": {kind: Plain}, "which_secret": {kind: Plain},

	"glob": {kind: Reader}, "parquet_bloom_probe": {kind: Reader}, "parquet_file_metadata": {kind: Reader},
	"parquet_full_metadata": {kind: Reader}, "parquet_kv_metadata": {kind: Reader}, "parquet_metadata": {kind: Reader},
	"parquet_scan": {kind: Reader}, "parquet_schema": {kind: Reader}, "read_blob": {kind: Reader}, "read_csv": {kind: Reader},
	"read_csv_auto": {kind: Reader}, "read_json": {kind: Reader}, "read_json_auto": {kind: Reader},
	"read_json_objects": {kind: Reader}, "read_json_objects_auto": {kind: Reader}, "read_ndjson": {kind: Reader},
	"read_ndjson_auto": {kind: Reader}, "read_ndjson_objects": {kind: Reader}, "read_parquet": {kind: Reader},
	"read_text": {kind: Reader}, "sniff_csv": {kind: Reader},

	"arrow_scan":                  {Refused, "it reads memory by its address"},
	"arrow_scan_dumb":             {Refused, "it reads memory by its address"},
	"checkpoint":                  {Refused, changesEngine},
	"disable_logging":             {Refused, changesEngine},
	"disable_peg_parser":          {Refused, changesEngine},
	"disable_profiling":           {Refused, changesEngine},
	"duckdb_table_sample":         {Refused, engineName},
	"enable_logging":              {Refused, changesEngine},
	"enable_peg_parser":           {Refused, changesEngine},
	"enable_profiling":            {Refused, changesEngine},
	"force_checkpoint":            {Refused, changesEngine},
	"histogram":                   {Refused, asTable + ", and use the aggregate histogram(x)"},
	"histogram_values":            {Refused, asTable + ", and use the aggregate histogram(x)"},
	"json_execute_serialized_sql": {Refused, "write the query itself"},
	"pragma_show":                 {Refused, engineName},
	"pragma_storage_info":         {Refused, engineName},
	"pragma_table_info":           {Refused, engineName},
	"query_table":                 {Refused, asTable},
	"read_duckdb":                 {Refused, "a database's views can read other files"},
	"seq_scan":                    {Refused, "it is DuckDB's own"},
	"sql_auto_complete":           {Refused, "it lists directories"},
	"truncate_duckdb_logs":        {Refused, changesEngine},
}

type function struct {
	kind Kind
	why  string
}

// takesOneFile says of a Reader that its argument is no list.
func takesOneFile(name string) bool { return strings.EqualFold(name, "sniff_csv") }

// KindOf is what a table function can reach, by its name without catalog and schema, in any case.
func KindOf(name string) Kind { return functions[strings.ToLower(name)].kind }

// Why says why a function is Refused.
func Why(name string) string { return functions[strings.ToLower(name)].why }

// refusedOptions are named arguments of readers that cannot be given, and why.
var refusedOptions = map[string]string{
	"store_rejects": "it makes temporary tables", "rejects_table": "it makes temporary tables",
	"rejects_scan": "it makes temporary tables", "rejects_limit": "it makes temporary tables",
	"encryption_config": "plans would show the keys",
}

// RefusedOption says why a named argument of a reader cannot be given; "" when it can.
func RefusedOption(name string) string { return refusedOptions[strings.ToLower(name)] }

// replacements are the extensions by which DuckDB takes a name that is no table's for a file, and what reads it.
var replacements = []struct{ extension, function string }{
	{".parquet", "read_parquet"}, {".csv", "read_csv"}, {".tsv", "read_csv"},
	{".json", "read_json_auto"}, {".jsonl", "read_json_auto"}, {".ndjson", "read_json_auto"},
	{".db", "read_duckdb"}, {".ddb", "read_duckdb"}, {".duckdb", "read_duckdb"},
}

// Replacement is the function that reads the file that a name after FROM stands for when no table has it, and the alias
// that DuckDB gives it; false when DuckDB would not take it for a file.
func Replacement(name string) (function, alias string, ok bool) {
	lower := strings.ToLower(name)
	for _, compression := range []string{".gz", ".zst"} {
		if cut, found := strings.CutSuffix(lower, compression); found {
			lower = cut
			break
		}
	}
	for _, r := range replacements {
		if strings.HasSuffix(lower, r.extension) {
			base := name[strings.LastIndexByte(name, '/')+1:]
			base, _, _ = strings.Cut(base, ".")
			return r.function, base, true
		}
	}
	return "", "", false
}
