package e2e

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/server"
	"github.com/seracdb/serac/tests/process"
)

func TestMain(m *testing.M) {
	status := m.Run()
	process.RemoveBinary()
	os.Exit(status)
}

// openCatalog opens the embedded catalog of a data directory beside the processes that use it.
func openCatalog(t testing.TB, dataDir string) *catalog.Catalog {
	t.Helper()
	c, err := server.OpenCatalog(context.Background(), config.Default(), dataDir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
