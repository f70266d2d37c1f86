package workdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDirsShareAParent(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "spill")
	a, swept, err := Create(parent)
	require.NoError(t, err)
	require.Zero(t, swept)
	b, swept, err := Create(parent)
	require.NoError(t, err)
	require.Zero(t, swept, "a live executor's directory stays")
	require.NotEqual(t, a.Path(), b.Path())
	require.DirExists(t, a.Path())

	sub, err := a.Sub("shuffle")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(sub, "file"), []byte("x"), 0o600))
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	require.NoDirExists(t, a.Path())
	require.DirExists(t, b.Path())
	require.NoError(t, b.Close())
}

func TestSweepsWhatTheDeadLeft(t *testing.T) {
	parent := t.TempDir()
	// What a killed process leaves: a directory whose lock nobody holds, or not even a lock file.
	for _, name := range []string{prefix + "killed", prefix + "killed-early"} {
		require.NoError(t, os.MkdirAll(filepath.Join(parent, name, "shuffle"), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(parent, prefix+"killed", lockName), nil, 0o600))
	// What is not ours stays.
	require.NoError(t, os.Mkdir(filepath.Join(parent, "other"), 0o700))

	d, swept, err := Create(parent)
	require.NoError(t, err)
	require.Equal(t, 2, swept)
	require.DirExists(t, filepath.Join(parent, "other"))
	require.NoError(t, d.Close())
}

// TestKilledProcess: the lock dies with its process, also when that is killed, and is not inherited by its children.
func TestKilledProcess(t *testing.T) {
	if parent := os.Getenv("WORKDIR_TEST_PARENT"); parent != "" {
		d, _, err := Create(parent)
		require.NoError(t, err)
		child := exec.Command("sleep", "5")
		require.NoError(t, child.Start())
		os.Stdout.WriteString(d.Path())
		os.Stdout.Close()
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	}
	parent := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), "WORKDIR_TEST_PARENT="+parent)
	out, err := cmd.Output()
	require.Error(t, err)
	require.DirExists(t, string(out))
	d, swept, err := Create(parent)
	require.NoError(t, err)
	require.Equal(t, 1, swept)
	require.NoDirExists(t, string(out))
	require.NoError(t, d.Close())
}

func TestManyAtOnce(t *testing.T) {
	parent := t.TempDir()
	var wg sync.WaitGroup
	dirs := make([]*Dir, 16)
	for i := range dirs {
		wg.Go(func() {
			d, swept, err := Create(parent)
			if err == nil && swept == 0 {
				dirs[i] = d
			}
		})
	}
	wg.Wait()
	for _, d := range dirs {
		require.NotNil(t, d)
		require.DirExists(t, d.Path())
		require.NoError(t, d.Close())
	}
}
