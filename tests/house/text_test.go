package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sources calls f with every text file that people write.
func sources(t *testing.T, f func(name, text string)) {
	t.Helper()
	dir := root(t)
	extensions := map[string]bool{".go": true, ".md": true, ".proto": true, ".yaml": true, ".yml": true, ".toml": true, ".sql": true, ".mod": true, "": true}
	count := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if entry.IsDir() {
			if name == ".git" || name == "bin" || name == "serac-data" || strings.HasSuffix(name, "testdata/fuzz") {
				return filepath.SkipDir
			}
			return nil
		}
		if !extensions[filepath.Ext(name)] && entry.Name() != "run" || strings.HasSuffix(name, ".pb.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		count++
		f(filepath.ToSlash(name), string(text))
		return nil
	}))
	require.Greater(t, count, 100)
}

// What is left to do is an issue, where it is seen, not a remark in the code.
func TestNothingIsLeftInRemarks(t *testing.T) {
	remark := regexp.MustCompile(`(?m)(//|#|--).*\b(TO` + `DO|FIX` + `ME|HA` + `CK)\b`)
	sources(t, func(name, text string) {
		require.Empty(t, remark.FindString(text), name)
	})
}

// A path of one machine means nothing on another, and tells whose machine it was.
func TestNoPathsOfOneMachine(t *testing.T) {
	path := regexp.MustCompile(`(^|[^\w.)\]}])/(ho` + `me|ro` + `ot|Us` + `ers|wo` + `rk)/\w+`)
	sources(t, func(name, text string) {
		require.Empty(t, path.FindString(text), name)
	})
}

// Line ends and tabs at line ends only make noise in differences.
func TestNoTrailingSpace(t *testing.T) {
	trailing := regexp.MustCompile(`(?m)[ \t\r]+$`)
	sources(t, func(name, text string) {
		if filepath.Ext(name) == ".md" || filepath.Ext(name) == ".proto" || filepath.Ext(name) == ".yml" {
			require.False(t, trailing.MatchString(text), name)
		}
	})
}
