package duckdb

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"
)

// SessionSettings are DuckDB's settings that change what a statement means and that a session may change, in lower case: the
// binder and each task have them from the statement's session. Others would differ between tasks or weaken the sandbox.
var SessionSettings = []string{"timezone", "calendar", "default_collation", "default_null_order", "default_order", "null_order"}

// Options says how a database is opened. The zero Options is an unsandboxed database with DuckDB's own defaults for
// threads, memory and temporary files.
type Options struct {
	// Threads is the number of worker threads; 0 leaves DuckDB's default (the machine's cores).
	Threads int
	// MemoryLimit is DuckDB's memory_limit in bytes; 0 leaves its default. Peak resident memory goes beyond it by up to
	// a half (sorts, joins), so give about two thirds of what the process may use.
	MemoryLimit int64
	// TempDir is where DuckDB spills. It is made if it is not there, and belongs to this database. Empty: no spilling;
	// a query that does not fit into memory fails.
	TempDir string
	// MaxTempBytes bounds the spilled bytes; 0 leaves DuckDB's default (90 % of the free disk).
	MaxTempBytes int64
	// AllowedDirs are the directories (with all below them) that a sandboxed database may read and write, besides TempDir.
	// They are compared as text: give the same absolute spelling that statements use.
	AllowedDirs []string
	// Sandbox closes everything else: files outside AllowedDirs, ATTACH, INSTALL, LOAD, and later SETs but for Settable.
	Sandbox bool
	// Settable are the settings that statements may still change in a sandboxed database, such as TimeZone.
	Settable []string
	// Settings are set at the start, before the sandbox closes, as SET name = 'value'.
	Settings map[string]string
	// Register are scalar functions that all connections see. Functions of the same name are overloads.
	Register []ScalarFunction
}

// statements are the SETs of o in the order that they must run in: the directories while external access is still
// open, then access, then the lock.
func (o Options) statements() ([]string, error) {
	var out []string
	set := func(name, value string) { out = append(out, "SET "+name+" = "+value) }
	if o.Threads > 0 {
		set("threads", fmt.Sprint(o.Threads))
	}
	if o.MemoryLimit > 0 {
		set("memory_limit", fmt.Sprintf("'%dB'", o.MemoryLimit))
	}
	set("temp_directory", quote(o.TempDir))
	if o.MaxTempBytes > 0 {
		set("max_temp_directory_size", fmt.Sprintf("'%dB'", o.MaxTempBytes))
	}
	// The cache also holds local files and served stale bytes of a file that had grown.
	set("enable_external_file_cache", "false")
	// Nothing is ever fetched from the network on DuckDB's own account.
	set("autoinstall_known_extensions", "false")
	set("autoload_known_extensions", "false")
	set("allow_community_extensions", "false")
	set("allow_persistent_secrets", "false")
	// Flight SQL clients and Parquet-minded ones read plain utf8, not the view types.
	set("produce_arrow_string_view", "false")
	names := make([]string, 0, len(o.Settings))
	for name := range o.Settings {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if !isSettingName(name) {
			return nil, fmt.Errorf("duckdb setting %q: not a setting's name", name)
		}
		set(name, quote(o.Settings[name]))
	}
	if !o.Sandbox {
		return out, nil
	}
	dirs := make([]string, 0, len(o.AllowedDirs)+1)
	for _, dir := range o.AllowedDirs {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("duckdb sandbox: allowed directory %q is not absolute", dir)
		}
		dirs = append(dirs, quote(filepath.Clean(dir)))
	}
	if o.TempDir != "" {
		dirs = append(dirs, quote(o.TempDir))
	}
	set("allowed_directories", "["+strings.Join(dirs, ", ")+"]")
	set("enable_external_access", "false")
	settable := make([]string, len(o.Settable))
	for i, name := range o.Settable {
		if !isSettingName(name) {
			return nil, fmt.Errorf("duckdb sandbox: %q is not a setting's name", name)
		}
		settable[i] = quote(name)
	}
	if len(settable) > 0 {
		set("allowed_configs", "["+strings.Join(settable, ", ")+"]")
	}
	set("lock_configuration", "true")
	return out, nil
}

func isSettingName(s string) bool {
	for _, r := range s {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return s != ""
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
