package house

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/scheduler/sql"
	"github.com/seracdb/serac/tests/process"
)

// builtBinary says whether a test asked for the binary, which is then to be removed.
var builtBinary bool

func TestMain(m *testing.M) {
	status := m.Run()
	if builtBinary {
		process.RemoveBinary()
	}
	os.Exit(status)
}

// documents are the texts that people read before they have run anything.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	texts := map[string]string{"README.md": read(t, "README.md")}
	for _, file := range files {
		name := "docs/" + filepath.Base(file)
		texts[name] = read(t, name)
	}
	return texts
}

func TestDocumentsNameTargetsThatExist(t *testing.T) {
	makefile := read(t, "Makefile")
	mentioned := regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)")
	for name, text := range documents(t) {
		for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
			require.Regexp(t, `(?m)^`+regexp.QuoteMeta(m[1])+`:`, makefile, "%s names make %s", name, m[1])
		}
	}
}

func TestDocumentsLinkToFilesThatExist(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)`)
	for name, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(m[1], "://") {
				require.FileExists(t, filepath.Join(root(t), filepath.Dir(name), m[1]), "%s links to it", name)
			}
		}
	}
	file := regexp.MustCompile("`([a-z]+/[a-z/]+\\.go)`")
	for _, m := range file.FindAllStringSubmatch(read(t, "docs/architecture.md"), -1) {
		require.FileExists(t, filepath.Join(root(t), m[1]))
	}
}

// Every `serac` command line in the documents is one that the binary takes.
func TestDocumentsNameCommandsThatExist(t *testing.T) {
	block := regexp.MustCompile("(?s)```sh\n(.*?)```")
	flag := regexp.MustCompile(`(?:^|\s)(--?[a-z][a-z0-9._-]*)`)
	help := map[string]string{}
	builtBinary = true
	checked := 0
	for name, text := range documents(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			for _, line := range strings.Split(m[1], "\n") {
				fields := strings.Fields(line)
				if len(fields) < 2 || filepath.Base(fields[0]) != "serac" {
					continue
				}
				command := fields[1]
				if help[command] == "" {
					out, err := exec.Command(process.Binary(t), command, "--help").CombinedOutput()
					require.NoError(t, err, "%s: %s\n%s", name, line, out)
					require.Contains(t, string(out), "serac "+command, "%s: %s", name, line)
					help[command] = string(out)
				}
				for _, f := range flag.FindAllStringSubmatch(withoutQuoted(line), -1) {
					require.Regexp(t, `(?m)(^|[\s,])`+regexp.QuoteMeta(f[1])+`\b`, help[command], "%s: %s", name, line)
				}
				checked++
			}
		}
	}
	require.Greater(t, checked, 3)
}

var quotedText = regexp.MustCompile(`"[^"]*"|'[^']*'`)

func withoutQuoted(line string) string { return quotedText.ReplaceAllString(line, "x") }

// Every SQL statement in the documents is one that the front end takes.
func TestDocumentsNameStatementsThatRun(t *testing.T) {
	block := regexp.MustCompile("(?s)```sql\n(.*?)```")
	checked := 0
	for name, text := range documents(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			statements, err := sql.Split(m[1])
			require.NoError(t, err, name)
			for _, statement := range statements {
				parsed, err := sql.Parse(statement)
				require.NoError(t, err, "%s: %s", name, statement)
				_, unsupported := parsed.(*sql.Unsupported)
				require.False(t, unsupported, "%s: %s", name, statement)
				checked++
			}
		}
	}
	require.Greater(t, checked, 3)
}

// Every configuration in the documents is one that is taken.
func TestDocumentsNameConfigurationsThatLoad(t *testing.T) {
	block := regexp.MustCompile("(?s)```toml\n(.*?)```")
	secretFile := ""
	for name, text := range documents(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			file := filepath.Join(t.TempDir(), "serac.toml")
			require.NoError(t, os.WriteFile(file, []byte(m[1]), 0o600))
			loaded, err := config.Load(config.Source{File: file})
			require.NoError(t, err, "%s:\n%s", name, m[1])
			require.NotEqual(t, config.Default(), loaded, "%s: it sets nothing\n%s", name, m[1])
			if name == "README.md" && loaded.Cluster.SecretFile != "" {
				secretFile = loaded.Cluster.SecretFile
				require.Equal(t, config.Default().Cluster.Secret.Reveal(), loaded.Cluster.Secret.Reveal())
			}
		}
	}
	require.NotEmpty(t, secretFile, "the README shows how a cluster gets its secret")
	// What the README says of the environment.
	require.Contains(t, read(t, "README.md"), "`SERAC_CLUSTER__SECRET`")
	loaded, err := config.Load(config.Source{Environ: []string{"SERAC_CLUSTER__SECRET=from-there"}})
	require.NoError(t, err)
	require.Equal(t, "from-there", loaded.Cluster.Secret.Reveal())
}

// Every option of Substrait's functions that is looked at is documented.
func TestSubstraitOptionsAreDocumented(t *testing.T) {
	document := read(t, "docs/substrait.md")
	looked := regexp.MustCompile(`\.(?:option|take)\("(\w+)", "`)
	names := map[string]bool{}
	sources(t, func(name, text string) {
		if filepath.Dir(name) != "scheduler/substrait" || strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, m := range looked.FindAllStringSubmatch(text, -1) {
			names[m[1]] = true
		}
		if _, native, ok := strings.Cut(text, "\nfunc native("); ok { // those that any function may have
			native, _, _ = strings.Cut(native, "\n}")
			for _, m := range regexp.MustCompile(`case "(\w+)":`).FindAllStringSubmatch(native, -1) {
				names[m[1]] = true
			}
		}
	})
	require.Greater(t, len(names), 10)
	for name := range names {
		require.Regexp(t, "(?m)^\\|[^|]*`"+name+"`", document, name)
	}
}

// Each dependency is there for a reason that somebody wrote down, and goes when the reason does.
func TestDependenciesAreTheDocumentedOnes(t *testing.T) {
	document := read(t, "docs/dependencies.md")
	_, modules, found := strings.Cut(document, "\n## go.mod\n")
	require.True(t, found)
	modules, tools, found := strings.Cut(modules, "\n## tools/go.mod\n")
	require.True(t, found)
	require.Equal(t, direct(t, "go.mod").modules, firstColumn(modules))
	require.Equal(t, direct(t, "tools/go.mod").tools, firstColumn(tools))
}

// A fuzz target that make fuzz does not run finds nothing.
func TestFuzzTargetsAreAllRun(t *testing.T) {
	target := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	makefile := read(t, "Makefile")
	count := 0
	sources(t, func(name, text string) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			require.Regexp(t, `[ \t]`+regexp.QuoteMeta(filepath.Dir(name)+"/"+m[1])+`[ \n]`, makefile, "add it to FUZZ")
			count++
		}
	})
	require.Greater(t, count, 10)
}

// firstColumn is the first cells of a table, sorted, without its head.
func firstColumn(text string) []string {
	var cells []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cell := strings.TrimSpace(strings.Split(line, "|")[1])
		if cell != "module" && cell != "tool" {
			cells = append(cells, cell)
		}
	}
	slices.Sort(cells)
	return cells
}

type named struct{ modules, tools []string }

func direct(t *testing.T, file string) named {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json", file)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	require.NoError(t, err)
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Tool []struct{ Path string }
	}
	require.NoError(t, json.Unmarshal(out, &mod))
	var n named
	for _, r := range mod.Require {
		if !r.Indirect {
			n.modules = append(n.modules, r.Path)
		}
	}
	for _, tool := range mod.Tool {
		n.tools = append(n.tools, tool.Path)
	}
	slices.Sort(n.modules)
	slices.Sort(n.tools)
	return n
}
