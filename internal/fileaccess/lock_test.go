package fileaccess

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
)

// TestDuckDBsLockStandsBehind: a database that may read a policy's directories reads nothing else, whatever gets past the
// checks, and what it may read cannot be changed.
func TestDuckDBsLockStandsBehind(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	for _, dir := range []string{"data", "database"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, dir, "x.csv"), []byte("a\n1\n"), 0o600))
	}
	require.NoError(t, os.Symlink("../database", filepath.Join(root, "data/link")))
	require.NoError(t, os.Symlink("../database/x.csv", filepath.Join(root, "data/link.csv")))
	require.NoError(t, os.Symlink("data", filepath.Join(root, "same")))
	for _, prefix := range []string{"/data", "/same"} { // a prefix may be a link
		policy, err := NewPolicy([]string{root + prefix})
		require.NoError(t, err)
		db, err := duckdb.Open(ctx, duckdb.Options{Threads: 1, Sandbox: true, AllowedDirs: policy.Dirs()})
		require.NoError(t, err)
		conn, err := db.Conn(ctx)
		require.NoError(t, err)
		for _, sql := range []string{"FROM read_csv('{}/x.csv')", "FROM '{}/x.csv'", "SELECT size FROM read_text('{}/*x.csv')"} {
			rows, err := conn.Rows(ctx, strings.ReplaceAll(sql, "{}", root+prefix))
			require.NoError(t, err, sql)
			require.Len(t, rows, 1, sql)
		}
		for _, sql := range []string{
			"FROM read_csv('{}base/x.csv')", "FROM read_csv('{}/../database/x.csv')", "FROM read_csv('{}/link/x.csv')", "FROM read_text('{}/link.csv')",
			"FROM read_csv('{}/*.csv')", "FROM '/etc/passwd.csv'", "FROM read_text('/etc/passwd')", "FROM glob('/etc/*')", "FROM glob('{}/../*')",
			"ATTACH '{}/../x.db'", "INSTALL httpfs", "LOAD httpfs", "COPY (SELECT 1) TO '{}base/out.csv'", "SET allowed_directories = ['/']",
			"SET enable_external_access = true", "SET lock_configuration = false", "RESET allowed_directories", "FROM 'https://host/x.csv'",
		} {
			_, err := conn.Rows(ctx, strings.ReplaceAll(sql, "{}", root+prefix))
			require.Error(t, err, sql)
		}
		require.NoError(t, conn.Close())
		require.NoError(t, db.Close())
	}
}
