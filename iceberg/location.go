package iceberg

import "strings"

// DataLocation is the directory or URL under which a table's data files go.
func DataLocation(location string, properties map[string]string) string {
	if path := strings.TrimSuffix(properties["write.data.path"], "/"); path != "" {
		return path
	}
	return strings.TrimSuffix(location, "/") + "/data"
}

// DataFilePrefix is how the names of a statement's data files start.
func DataFilePrefix(statement string) string { return statement + "-" }
