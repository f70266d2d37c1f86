package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

// atOnce runs a function for many clients at the same time.
func atOnce(t *testing.T, cluster *process.Cluster, clients int, work func(i int, c *process.Client) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make(chan error, clients)
	for i := range clients {
		wg.Go(func() {
			c := cluster.Connect(t)
			defer c.Close()
			errs <- work(i, c)
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

// TestManyClients has twenty clients insert into one table and a hundred read it.
func TestManyClients(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA m")
	client.Query("CREATE TABLE m.t (i BIGINT, k BIGINT) PARTITIONED BY (bucket(2, i))")
	ctx := context.Background()
	atOnce(t, cluster, 20, func(i int, c *process.Client) error {
		_, err := c.Run(ctx, fmt.Sprintf("INSERT INTO m.t SELECT i, %d FROM range(100) r(i)", i))
		return err
	})
	require.Equal(t, "2000", client.Value("SELECT count(*) FROM m.t"))
	require.Equal(t, "20", client.Value("SELECT count(DISTINCT k) FROM m.t"))
	atOnce(t, cluster, 100, func(i int, c *process.Client) error {
		result, err := c.Run(ctx, fmt.Sprintf("SELECT count(*) FROM m.t WHERE k = %d", i%20))
		if err == nil && result.Rows[0][0].Text != "100" {
			err = fmt.Errorf("key %d: %s rows", i%20, result.Rows[0][0])
		}
		return err
	})
	clean(t, openCatalog(t, dataDir), dataDir)
	cluster.Stop()
}

// TestTablesThatComeAndGo creates, fills, reads and drops one name from many clients: each statement works or says what
// is in its way, and a table is never broken by the files of its namesakes.
func TestTablesThatComeAndGo(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA g")
	ctx := context.Background()
	atOnce(t, cluster, 12, func(i int, c *process.Client) error {
		for range 5 {
			for _, sql := range []string{
				"CREATE TABLE IF NOT EXISTS g.t AS SELECT i FROM range(1000) r(i)",
				"SELECT count(*) FROM g.t",
				"INSERT INTO g.t SELECT 1",
				[]string{"DROP TABLE g.t PURGE", "SELECT sum(i) FROM g.t"}[i%2],
			} {
				_, err := c.Run(ctx, sql)
				switch {
				case err == nil:
				case strings.Contains(err.Error(), "does not exist"), strings.Contains(err.Error(), "commit conflict"):
				case strings.HasPrefix(sql, "SELECT") && strings.Contains(err.Error(), "no such file"):
					// Purged under its reader.
				default:
					return fmt.Errorf("%s: %w", sql, err)
				}
			}
		}
		return nil
	})
	client.Query("DROP TABLE IF EXISTS g.t PURGE")
	client.Query("CREATE TABLE g.t AS SELECT i FROM range(10) r(i)")
	require.Equal(t, "10", client.Value("SELECT count(*) FROM g.t"))
	clean(t, openCatalog(t, dataDir), dataDir)
	cluster.Stop()
}
