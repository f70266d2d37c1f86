package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFileFunctions gives the list in each of the three places, and what cannot be.
func TestFileFunctions(t *testing.T) {
	off, err := Default().Query.Files()
	require.NoError(t, err)
	require.False(t, off.On())

	file := writeFile(t, "[query]\nallow_file_functions = true\nfile_function_prefixes = [\"/data,x\", \"file:///srv/\"]\n")
	for want, src := range map[string]Source{
		"/data,x /srv": {File: file},
		"/a /b":        {File: file, Environ: []string{"SERAC_QUERY__FILE_FUNCTION_PREFIXES=/a, /b,"}},
		"/c":           {File: file, Set: map[string]string{"query.file_function_prefixes": "/c"}},
		"/e":           {Environ: []string{"SERAC_QUERY__ALLOW_FILE_FUNCTIONS=true", "SERAC_QUERY__FILE_FUNCTION_PREFIXES=/e"}},
		"":             {File: file, Set: map[string]string{"query.allow_file_functions": "false"}},
	} {
		c, err := Load(src)
		require.NoError(t, err)
		p, err := c.Query.Files()
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(p.Dirs(), " "))
		require.Equal(t, want != "", p.On())
	}

	for says, text := range map[string]string{
		"query.allow_file_functions: set query.file_function_prefixes too": "allow_file_functions = true",
		"local files only":             "file_function_prefixes = [\"s3://bucket/x\"]",
		"not absolute":                 "allow_file_functions = true\nfile_function_prefixes = [\"data\"]",
		"is not a string":              "file_function_prefixes = [1]",
		"expected a list of strings":   "file_function_prefixes = true",
		"would open the whole file":    "file_function_prefixes = [\"/\"]",
		"query.file_function_prefixes": "file_function_prefixes = [\"/a/../b\"]",
	} {
		_, err := Load(Source{File: writeFile(t, "[query]\n"+text+"\n")})
		require.ErrorContains(t, err, says)
	}

	c, err := Load(Source{File: file})
	require.NoError(t, err)
	var printed strings.Builder
	require.NoError(t, c.Write(&printed))
	again, err := Load(Source{File: writeFile(t, printed.String())})
	require.NoError(t, err)
	require.Equal(t, c.Query, again.Query)
}
