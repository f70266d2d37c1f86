package house

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/seracdb/serac"

// root is the repository's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "go.mod"))
	return dir
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), name))
	require.NoError(t, err)
	return string(text)
}

// goPackage is what `go list` says of a package.
type goPackage struct {
	ImportPath, Dir, Name string
	Imports, Deps         []string
}

func (p goPackage) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Imports,Deps", "-tags", "duckdb_arrow", "./...")
	list.Dir, list.Stderr = root(t), os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	var all []goPackage
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// room is a line of the table of rooms.
type room struct {
	place      string
	all        bool
	may, mayNo []string
}

var quoted = regexp.MustCompile("`([a-z/]+)`")

func names(text string) []string {
	var list []string
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// rooms reads the table of docs/architecture.md.
func rooms(t *testing.T) []room {
	t.Helper()
	_, section, found := strings.Cut(read(t, "docs/architecture.md"), "\n## The rooms\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var list []room
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 3 || !strings.HasPrefix(cells[0], "`") {
			continue
		}
		r := room{place: strings.Trim(cells[0], "`"), all: cells[2] == "all"}
		may, mayNot, _ := strings.Cut(cells[2], " but not ")
		r.may, r.mayNo = names(may), names(mayNot)
		require.True(t, r.all || len(r.may) > 0 || cells[2] == "nothing", "what may %s import? %s", r.place, cells[2])
		list = append(list, r)
	}
	require.Greater(t, len(list), 15, "the table was not found")
	return list
}

func within(path, place string) bool { return path == place || strings.HasPrefix(path, place+"/") }

// placeOf is the longest of the places that a package lies in; "" when it is in none.
func placeOf(path string, places []string) string {
	best := ""
	for _, place := range places {
		if within(path, place) && len(place) > len(best) {
			best = place
		}
	}
	return best
}

// A newcomer can trust the table only if nothing goes round it.
func TestImportsFollowTheRooms(t *testing.T) {
	table := rooms(t)
	var places []string
	byPlace := map[string]room{}
	for _, r := range table {
		places = append(places, r.place)
		byPlace[r.place] = r
	}
	for _, p := range packages(t) {
		home, ok := byPlace[placeOf(p.path(), places)]
		require.True(t, ok, "package %s is in no room of docs/architecture.md", p.path())
		if home.all {
			continue
		}
		for _, imported := range p.Imports {
			path, ours := strings.CutPrefix(imported, module+"/")
			if !ours || within(path, home.place) && placeOf(path, places) == home.place {
				continue
			}
			allowed := placeOf(path, append(slices.Clone(home.may), home.place)) != "" && placeOf(path, home.mayNo) == ""
			require.True(t, allowed, "package %s may not import %s: see the rooms of docs/architecture.md", p.path(), path)
		}
		for _, dep := range p.Deps {
			path := strings.TrimPrefix(dep, module+"/")
			require.Empty(t, placeOf(path, home.mayNo), "package %s reaches %s through what it imports", p.path(), path)
		}
	}
}

// One room knows the bindings, so that their traps (facts of life and death of C memory) are in one place.
func TestOnlyOneRoomKnowsDuckDBsBindings(t *testing.T) {
	for _, p := range packages(t) {
		if p.path() == "internal/duckdb" {
			continue
		}
		for _, imported := range p.Imports {
			require.NotContains(t, imported, "github.com/duckdb/", "package %s: use internal/duckdb", p.path())
		}
	}
}

// The state machine can be replayed only if it asks nobody for anything.
func TestTheJobMachineIsPure(t *testing.T) {
	for _, p := range packages(t) {
		if p.path() != "scheduler/job" {
			continue
		}
		for _, impure := range []string{"os", "net", "sync", "context", "math/rand", "math/rand/v2", "log/slog", "google.golang.org/grpc"} {
			require.NotContains(t, p.Imports, impure)
		}
		return
	}
	t.Fatal("no package scheduler/job")
}

// A folder says what it is for in the place where everyone looks first: doc.go, or in a small package the file of its name.
func TestEveryPackageHasADoc(t *testing.T) {
	for _, p := range packages(t) {
		if p.Name == "main" || strings.HasPrefix(p.path(), "proto/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(p.Dir, "doc.go"))
		if errors.Is(err, fs.ErrNotExist) {
			text, err = os.ReadFile(filepath.Join(p.Dir, p.Name+".go"))
		}
		require.NoError(t, err, "package %s has no doc.go", p.path())
		require.True(t, strings.HasPrefix(string(text), "// Package "+p.Name+" "), "the doc of package %s does not begin with // Package %s", p.path(), p.Name)
	}
}
