package config

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCatalogsOfOtherFormats(t *testing.T) {
	file := filepath.Join(t.TempDir(), "serac.toml")
	require.NoError(t, os.WriteFile(file, []byte(`
[catalogs.files]
type = "csv"
path = "/data/s3cr3t"
[catalogs.more]
type = "csv"
`), 0o600))
	c, err := Load(Source{File: file, Environ: []string{
		"SERAC_CATALOGS__MORE__PATH=/elsewhere", "SERAC_CATALOGS__THIRD__TYPE=other", "SERAC_CATALOGS__FILES__PATH=/data/s3cr3t2",
	}})
	require.NoError(t, err)
	require.Len(t, c.Catalogs, 3)
	require.Equal(t, "csv", c.Catalogs["files"].Type)
	require.Equal(t, "/data/s3cr3t2", c.Catalogs["files"].Properties["path"].Reveal(), "the environment overrides the file")
	require.Equal(t, "/elsewhere", c.Catalogs["more"].Properties["path"].Reveal())
	require.Equal(t, "other", c.Catalogs["third"].Type)

	var printed bytes.Buffer
	require.NoError(t, c.Write(&printed))
	require.Contains(t, printed.String(), "\n[catalogs.files]\ntype = \"csv\"\npath = \"<redacted>\"\n")
	require.NotContains(t, printed.String(), "s3cr3t", "nothing says which keys are secrets")
}

func TestFaultsOfCatalogsOfOtherFormats(t *testing.T) {
	file := filepath.Join(t.TempDir(), "serac.toml")
	require.NoError(t, os.WriteFile(file, []byte(`
[catalogs]
loose = "csv"
[catalogs.SERAC]
type = "csv"
[catalogs."a-b"]
type = "csv"
[catalogs.files]
path = 7
`), 0o600))
	_, err := Load(Source{File: file, Environ: []string{"SERAC_CATALOGS__MORE=csv"}})
	for _, says := range []string{
		"catalogs.loose: a catalog is a section", "catalogs.SERAC: another catalog has that name",
		"catalogs.a-b: the name of a catalog", "catalogs.files.path: expected a string", "catalogs.files.type: must be set",
		"SERAC_CATALOGS__MORE: expected SERAC_CATALOGS__<NAME>__<KEY>",
	} {
		require.ErrorContains(t, err, says)
	}
}
