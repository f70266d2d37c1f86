package object

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// LocalPath is the local file that a location names, and whether it names one: a plain path, or a file: URI (decoded, as
// iceberg-go's local FileIO decodes it).
func LocalPath(location string) (string, bool, error) {
	colon := strings.IndexByte(location, ':')
	slash := strings.IndexByte(location, '/')
	if colon < 0 || slash >= 0 && slash < colon {
		return filepath.Clean(location), true, nil
	}
	if !strings.EqualFold(location[:colon], "file") {
		if !strings.HasPrefix(location[colon+1:], "//") {
			return filepath.Clean(location), true, nil // a plain name with a colon in it
		}
		return "", false, nil
	}
	u, err := url.Parse(location)
	if err != nil {
		return "", true, fmt.Errorf("location %q: %w", location, err)
	}
	path := u.Path
	if u.Opaque != "" {
		if path, err = url.PathUnescape(u.Opaque); err != nil {
			return "", true, fmt.Errorf("location %q: %w", location, err)
		}
	}
	if u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
		return "", true, fmt.Errorf("location %q: a file on another host", location)
	}
	return filepath.Clean(path), true, nil
}

// plainToDuckDB says that DuckDB reads the path as one file: it expands *, ? and [ in a file's name.
func plainToDuckDB(path string) bool { return !strings.ContainsAny(path, "*?[]{}\\") }

// within says that path is below one of dirs.
func within(path string, dirs []string) bool {
	for _, dir := range dirs {
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(filepath.Clean(dir), "/")); ok && strings.HasPrefix(rest, "/") {
			return true
		}
	}
	return false
}
