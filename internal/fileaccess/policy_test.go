package fileaccess

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrefixes(t *testing.T) {
	p, err := NewPolicy([]string{"/data/", "file:///srv//files", "file:/a", "file://localhost/b"})
	require.NoError(t, err)
	require.Equal(t, []string{"/data", "/srv/files", "/a", "/b"}, p.Dirs())
	for prefix, says := range map[string]string{
		"relative/dir": "not absolute", "s3://bucket/x": "local files only", "https://host/x": "local files only", "hf://x": "local files only",
		"/": "whole file system", "/data/../etc": `".."`, "/data/*": "without", "": "empty", "file://host/x": "the host host",
	} {
		_, err := NewPolicy([]string{"/ok", prefix})
		require.ErrorContains(t, err, says, prefix)
	}
	require.False(t, Policy{}.On())
}

func TestPaths(t *testing.T) {
	root := t.TempDir()
	data := filepath.Join(root, "data")
	for _, dir := range []string{data, filepath.Join(data, "sub"), filepath.Join(root, "database")} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	for _, f := range []string{"data/x.csv", "data/sub/y.csv", "database/secret.csv"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, f), []byte("a\n1\n"), 0o600))
	}
	link := func(target, name string) { require.NoError(t, os.Symlink(target, filepath.Join(root, name))) }
	link("../database/secret.csv", "data/out.csv")
	link("../database", "data/outdir")
	link("x.csv", "data/in.csv")
	link("data", "same")
	glob := func(pattern string, _ int) ([]string, error) { return filepath.Glob(pattern) }
	p, err := NewPolicy([]string{data})
	require.NoError(t, err)

	for path, want := range map[string]string{
		"/x.csv": "/x.csv", "//./x.csv": "/x.csv", "/in.csv": "/in.csv", "/sub/*.csv": "/sub/*.csv", "/missing.csv": "/missing.csv",
		"": "", "/": "",
	} {
		got, err := p.Check("read_csv", data+path, glob)
		require.NoError(t, err, path)
		require.Equal(t, data+want, got.Value)
	}
	for _, scheme := range []string{"file:", "file://", "file://localhost", "FILE://"} {
		got, err := p.Check("read_csv", scheme+data+"/x.csv", glob)
		require.NoError(t, err, scheme)
		require.Equal(t, data+"/x.csv", got.Value)
		require.Equal(t, data+"/x.csv", got.Argument)
	}
	for path, says := range map[string]string{
		root + "/database/secret.csv":              "not below",
		root + "/same/x.csv":                       "not below",
		data + "base/secret.csv":                   "not below",
		data + "/../database/secret.csv":           `".."`,
		data + "/sub/../x.csv":                     `".."`,
		data + "/*/../../database/*":               `".."`,
		"file://" + data + "/../database/x":        `".."`,
		data + "/out.csv":                          "is a link",
		data + "/outdir/secret.csv":                "is a link",
		data + "/outdir/missing.csv":               "is a link",
		data + "/*.csv":                            "is a link",
		data + "/*/*.csv":                          "is a link",
		root + "/data*/*":                          "not below",
		root + "/d?ta/x.csv":                       "not below",
		root + "/d[a]ta/x.csv":                     "not below",
		"/etc/passwd":                              "not below",
		"x.csv":                                    "not absolute",
		"~/x.csv":                                  "not absolute",
		"./x.csv":                                  "not absolute",
		"":                                         "empty",
		"file:":                                    "empty",
		"file:x.csv":                               "not absolute",
		"file://otherhost" + data:                  "the host otherhost",
		"s3://bucket" + data:                       "local files only",
		"https://host" + data:                      "local files only",
		data + "/x.csv\x00.parquet":                "zero byte",
		filepath.Join(root, "DATA") + "/x.csv":     "not below",
		"/elsewhere" + data + "/x.csv":             "not below",
		"/elsewhere/../elsewhere" + data + "/x":    `".."`,
		filepath.ToSlash(root) + "/data\\x.csv":    "not below",
		"s3:" + data + "/x.csv":                    "not absolute",
		data[:len(data)-1] + "/x.csv":              "not below",
		"\u2024\u2024/database/secret.csv":         "not absolute",
		data + "/..":                               `".."`,
		data + "/outdir/*":                         "is a link",
		"file:///" + data[1:] + "/outdir/x.parq":   "is a link",
		"file://localhost/../" + data + "/x.csv":   `".."`,
		"file:////" + root[1:] + "/database/x.csv": "not below",
	} {
		_, err := p.Check("read_csv", path, glob)
		require.ErrorContains(t, err, says, path)
	}
	_, err = p.Check("read_csv", data+"/*", func(string, int) ([]string, error) { return nil, errors.New("no such disk") })
	require.ErrorContains(t, err, "no such disk")

	// A prefix that is a link stands for what it leads to.
	linked, err := NewPolicy([]string{filepath.Join(root, "same")})
	require.NoError(t, err)
	_, err = linked.Check("read_csv", root+"/same/x.csv", glob)
	require.NoError(t, err)
	_, err = linked.Check("read_csv", root+"/same/out.csv", glob)
	require.ErrorContains(t, err, "is a link")
	_, err = Policy{}.Check("read_csv", data+"/x.csv", glob)
	require.ErrorContains(t, err, "not below")
}

// What a pattern matches is looked up once: DuckDB is called with those files, and takes no name for a pattern again.
func TestPatternsAreExpandedOnce(t *testing.T) {
	p, err := NewPolicy([]string{"/data"})
	require.NoError(t, err)
	matches := map[string][]string{"/data/*": {"/data/a", "/data/b[1]*?"}, "/data/one*": {"/data/one"}, "/data/none*": nil}
	expand := func(pattern string, limit int) ([]string, error) { return matches[pattern], nil }
	for _, c := range []struct {
		function    string
		value, want any
	}{
		{"read_csv", "/data/x", "/data/x"},
		{"read_csv", []any{"/data/x"}, []any{"/data/x"}},
		{"read_csv", "file:///data/*", []any{"/data/a", "/data/b[[]1][*][?]"}},
		{"read_csv", []any{"/data/x", "/data/*", "/data/one*"}, []any{"/data/x", "/data/a", "/data/b[[]1][*][?]", "/data/one"}},
		{"Glob", "/data/none*", []any{}},
		{"sniff_csv", "/data/one*", "/data/one"},
	} {
		got, err := p.Check(c.function, c.value, expand)
		require.NoError(t, err, c.value)
		require.Equal(t, c.want, got.Argument, c.value)
	}
	_, err = p.Check("sniff_csv", "/data/*", expand)
	require.ErrorContains(t, err, "matches 2 files")
	for _, value := range []any{"/data/none*", []any{"/data/*", "/data/none*"}} {
		_, err = p.Check("read_csv", value, expand)
		require.ErrorContains(t, err, `no file matches "/data/none*"`)
	}
	// No more are asked for than may match, in all patterns together.
	asked := 0
	many := func(pattern string, limit int) ([]string, error) {
		asked += limit
		return make([]string, min(limit, MaxMatches/2+1)), nil
	}
	_, err = p.Check("read_csv", []any{"/data/a*", "/data/b*"}, func(pattern string, limit int) ([]string, error) {
		files, err := many(pattern, limit)
		for i := range files {
			files[i] = "/data/f"
		}
		return files, err
	})
	require.ErrorContains(t, err, `"/data/b*" matches too many files: the patterns of a call may match 10000 at most`)
	require.LessOrEqual(t, asked, 2*MaxMatches)
}
