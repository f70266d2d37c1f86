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
	case isPattern(dir):
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

// MaxMatches is how many files the patterns of one call may match.
const MaxMatches = 10_000

// Expand gives the files that a path with glob characters matches, as DuckDB has it, but no more than limit.
type Expand func(pattern string, limit int) ([]string, error)

// Paths are the first argument of a reader, checked.
type Paths struct {
	// Value is the text, or list of texts ([]any), that the statement names, as clean absolute paths.
	Value any
	// Files are those that it stands for.
	Files []string
	// Argument is what DuckDB is called with in place of Value: with the files that a pattern matches it does not look for
	// others that have not been checked.
	Argument any
}

// Check checks a reader's first argument: a text, or a list of texts ([]any). With every symbolic link resolved, each file that
// is named or that a pattern matches must lie below a prefix.
func (p Policy) Check(function string, value any, expand Expand) (*Paths, error) {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	patterns := false
	values, arguments := make([]any, len(list)), []any{}
	out := &Paths{}
	for i, item := range list {
		text, ok := item.(string)
		switch {
		case ok:
		case isList:
			return nil, errors.New("a path of the list is no text")
		case item == nil:
			return nil, errors.New("the path is NULL, as a parameter is while its statement is prepared")
		default:
			return nil, errors.New("the path is neither a text nor a list of texts")
		}
		path, files, err := p.check(text, MaxMatches-len(out.Files), expand)
		if err != nil {
			return nil, err
		}
		values[i] = path
		if !isPattern(path) {
			arguments = append(arguments, path)
		} else {
			patterns = true
			if len(files) == 0 && !strings.EqualFold(function, "glob") {
				return nil, fmt.Errorf("no file matches %q", text)
			}
			for _, f := range files {
				arguments = append(arguments, literal.Replace(f))
			}
		}
		out.Files = append(out.Files, files...)
	}
	out.Value, out.Argument = values, arguments
	if !isList {
		out.Value = values[0]
		switch {
		case !patterns || takesOneFile(function) && len(arguments) == 1:
			out.Argument = arguments[0]
		case takesOneFile(function):
			return nil, fmt.Errorf("%q matches %d files, and the function reads one", value, len(arguments))
		}
	}
	return out, nil
}

// check is a path as a clean absolute one, and the files that it stands for: no more than most when it is a pattern.
func (p Policy) check(path string, most int, expand Expand) (clean string, files []string, err error) {
	clean, err = localPath(path)
	if err != nil {
		return "", nil, fmt.Errorf("file %q: %w", path, err)
	}
	if !below(clean, p.dirs) {
		return "", nil, fmt.Errorf("file %q is not below a directory of %s", path, prefixSetting)
	}
	files = []string{clean}
	if isPattern(clean) {
		if files, err = expand(clean, most+1); err != nil {
			return "", nil, err
		}
		if len(files) > most {
			return "", nil, fmt.Errorf("%q matches too many files: the patterns of a call may match %d at most", path, MaxMatches)
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

func isPattern(path string) bool { return strings.ContainsAny(path, globCharacters) }

// literal makes a pattern that only a file's own name matches: DuckDB takes the paths of a list for patterns too.
var literal = strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]")

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
