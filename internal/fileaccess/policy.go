package fileaccess

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Settings that the errors name.
const (
	allowSetting  = "[query] allow_file_functions"
	prefixSetting = "[query] file_function_prefixes"
)

// Policy is what statements may read. The zero Policy is nothing.
type Policy struct {
	// dirs are absolute and clean, and have no glob characters.
	dirs []string
}

// NewPolicy allows what lies below the given directories: absolute paths or file:// URLs. Every fault is in the error.
func NewPolicy(prefixes []string) (Policy, error) {
	var p Policy
	var faults []error
	for _, prefix := range prefixes {
		dir, err := prefixDir(prefix)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		p.dirs = append(p.dirs, dir)
	}
	if len(faults) > 0 {
		return Policy{}, errors.Join(faults...)
	}
	return p, nil
}

// On says that something may be read.
func (p Policy) On() bool { return len(p.dirs) > 0 }

// Dirs are the directories below which files may be read.
func (p Policy) Dirs() []string { return append([]string(nil), p.dirs...) }

// Off is the error of a call while nothing may be read.
func Off(function string) error {
	return fmt.Errorf("%s() reads files, which is off: it needs %s = true in the configuration of the scheduler and of the executors, and the directories in file_function_prefixes",
		function, allowSetting)
}

const globCharacters = "*?["

func prefixDir(text string) (string, error) {
	dir, err := localPath(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("prefix %q: %w", text, err)
	case dir == "/":
		return "", fmt.Errorf("prefix %q would open the whole file system: list directories", text)
	case strings.ContainsAny(dir, globCharacters):
		return "", fmt.Errorf("prefix %q: a directory without %s", text, strings.Join(strings.Split(globCharacters, ""), " "))
	}
	return dir, nil
}

// localPath is the absolute path, clean, that a path or a file URL names.
func localPath(text string) (string, error) {
	path := text
	if len(path) >= 5 && strings.EqualFold(path[:5], "file:") {
		path = path[5:]
		if rest, ok := strings.CutPrefix(path, "//"); ok {
			host, _, _ := strings.Cut(rest, "/")
			if host != "" && host != "localhost" {
				return "", fmt.Errorf("the file URL names the host %s, and only local files can be read", host)
			}
			path = rest[len(host):]
		}
	} else if scheme := schemeOf(path); scheme != "" {
		return "", fmt.Errorf("files of %s:// cannot be read: the DuckDB that is built in reads local files only", scheme)
	}
	switch {
	case path == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(path, 0):
		return "", errors.New("the path has a zero byte")
	case !strings.HasPrefix(path, "/"):
		return "", errors.New("the path is not absolute")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == ".." {
			return "", errors.New(`the path has ".." in it`)
		}
	}
	return filepath.Clean(path), nil
}

// schemeOf is the scheme of a URL; "" of a path.
func schemeOf(text string) string {
	before, _, ok := strings.Cut(text, "://")
	if !ok || before == "" || strings.ContainsAny(before, "/") {
		return ""
	}
	if u, err := url.Parse(before + "://x"); err == nil {
		return u.Scheme
	}
	return ""
}

// Check gives the path that a reader may be called with for one that a statement names: the same file, as a clean absolute
// path, and the files that it stands for. expand gives the files that a path with glob characters matches; with every
// symbolic link resolved, each of them must lie below a prefix, as must a file that is named.
func (p Policy) Check(path string, expand func(pattern string) ([]string, error)) (clean string, files []string, err error) {
	clean, err = localPath(path)
	if err != nil {
		return "", nil, fmt.Errorf("file %q: %w", path, err)
	}
	if !below(clean, p.dirs) {
		return "", nil, fmt.Errorf("file %q is not below a directory of %s", path, prefixSetting)
	}
	files = []string{clean}
	if strings.ContainsAny(clean, globCharacters) {
		if files, err = expand(clean); err != nil {
			return "", nil, err
		}
	}
	// Prefixes may be links themselves.
	prefixes := make([]string, len(p.dirs))
	for i, dir := range p.dirs {
		prefixes[i] = resolved(dir)
	}
	for _, f := range files {
		if !below(resolved(f), prefixes) {
			return "", nil, fmt.Errorf("file %q is a link to one that is not below a directory of %s", f, prefixSetting)
		}
	}
	return clean, files, nil
}

// CheckValue checks a reader's first argument: a text, or a list of texts ([]any). It gives what the reader may be called with
// in its place, and the files that this stands for.
func (p Policy) CheckValue(value any, expand func(pattern string) ([]string, error)) (clean any, files []string, err error) {
	switch v := value.(type) {
	case string:
		return p.Check(v, expand)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			text, ok := item.(string)
			if !ok {
				return nil, nil, errors.New("a path of the list is no text")
			}
			path, more, err := p.Check(text, expand)
			if err != nil {
				return nil, nil, err
			}
			list[i], files = path, append(files, more...)
		}
		return list, files, nil
	case nil:
		return nil, nil, errors.New("the path is NULL, as a parameter is while its statement is prepared")
	}
	return nil, nil, errors.New("the path is neither a text nor a list of texts")
}

// resolved is a path with its symbolic links followed, as far as it exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolved(dir), filepath.Base(path))
	}
	return path
}

// below says that a clean path is one of the directories or lies in one.
func below(path string, dirs []string) bool {
	for _, dir := range dirs {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}
