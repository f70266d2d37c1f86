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
	glob := func(pattern string) ([]string, error) { return filepath.Glob(pattern) }
	p, err := NewPolicy([]string{data})
	require.NoError(t, err)

	for path, want := range map[string]string{
		"/x.csv": "/x.csv", "//./x.csv": "/x.csv", "/in.csv": "/in.csv", "/sub/*.csv": "/sub/*.csv", "/missing.csv": "/missing.csv",
		"": "", "/": "",
	} {
		got, _, err := p.Check(data+path, glob)
		require.NoError(t, err, path)
		require.Equal(t, data+want, got)
	}
	for _, scheme := range []string{"file:", "file://", "file://localhost", "FILE://"} {
		got, _, err := p.Check(scheme+data+"/x.csv", glob)
		require.NoError(t, err, scheme)
		require.Equal(t, data+"/x.csv", got)
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
		_, _, err := p.Check(path, glob)
		require.ErrorContains(t, err, says, path)
	}
	_, _, err = p.Check(data+"/*", func(string) ([]string, error) { return nil, errors.New("no such disk") })
	require.ErrorContains(t, err, "no such disk")

	// A prefix that is a link stands for what it leads to.
	linked, err := NewPolicy([]string{filepath.Join(root, "same")})
	require.NoError(t, err)
	_, _, err = linked.Check(root+"/same/x.csv", glob)
	require.NoError(t, err)
	_, _, err = linked.Check(root+"/same/out.csv", glob)
	require.ErrorContains(t, err, "is a link")
	_, _, err = Policy{}.Check(data+"/x.csv", glob)
	require.ErrorContains(t, err, "not below")
}
