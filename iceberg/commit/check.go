package commit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// FileError says which data file does not fit the table, and why. errors.Is(err, ErrBadFile) holds for it.
type FileError struct {
	Path   string
	Reason error
}

func (e *FileError) Error() string { return fmt.Sprintf("%v: %s: %v", ErrBadFile, e.Path, e.Reason) }

// Unwrap gives ErrBadFile and the reason.
func (e *FileError) Unwrap() []error { return []error{ErrBadFile, e.Reason} }

// Check holds what executors say of the files they wrote against the table as the statement was planned with it: schema, spec,
// format version, location. Nothing else may be done with such a message before. A fault is a *FileError.
func Check(t *catalog.Table, files []*seracv1.DataFile) error {
	_, err := dataFiles(t, t, files, nil)
	return err
}

// checkOrigin refuses a file that was written for another load of the table, or that is not where its data files are.
func checkOrigin(planned *catalog.Table, m *seracv1.DataFile) error {
	if m.GetPath() == "" {
		return fmt.Errorf("it has no path")
	}
	if root := iceberg.DataLocation(planned.Location(), planned.Properties()); !under(root, m.GetPath()) {
		return fmt.Errorf("it is not under the table's data location %s", root)
	}
	if v := int(m.GetFormatVersion()); v != planned.FormatVersion() {
		return fmt.Errorf("it was written for format version %d, the statement was planned with %d", v, planned.FormatVersion())
	}
	if id := int(m.GetSchemaId()); id != planned.Schema().ID {
		return fmt.Errorf("it was written with schema %d, the statement was planned with %d", id, planned.Schema().ID)
	}
	return nil
}

// under says that a location is below a directory, whatever "." and ".." may make of it.
func under(root, location string) bool {
	rest, ok := strings.CutPrefix(location, strings.TrimSuffix(root, "/")+"/")
	if !ok || rest == "" || strings.HasSuffix(rest, "/") {
		return false
	}
	parts := strings.Split(rest, "/")
	return !slices.Contains(parts, "..") && !slices.Contains(parts, ".")
}

// Own divides paths into those of the statement's own data files and others. Executors name the files that nobody will commit;
// only a statement's own may be deleted at their word.
func Own(t *catalog.Table, statement string, paths []string) (own, others []string) {
	root, prefix := iceberg.DataLocation(t.Location(), t.Properties()), iceberg.DataFilePrefix(statement)
	for _, p := range paths {
		if under(root, p) && strings.HasPrefix(path.Base(p), prefix) {
			own = append(own, p)
		} else {
			others = append(others, p)
		}
	}
	return own, others
}
