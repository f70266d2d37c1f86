package manifest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func key(name string) Key { return Key{Path: name} }

// constant loads a value of a size and counts how often.
func constant(loads *atomic.Int32, value string, size int64) func(context.Context) (string, int64, error) {
	return func(context.Context) (string, int64, error) {
		loads.Add(1)
		return value, size, nil
	}
}

func TestCacheIsBoundedByBytes(t *testing.T) {
	c, loads := NewCache(100), new(atomic.Int32)
	read := func(name string, size int64) {
		t.Helper()
		v, err := get(t.Context(), c, key(name), constant(loads, name, size))
		require.NoError(t, err)
		require.Equal(t, name, v)
		require.LessOrEqual(t, c.Size(), int64(100))
	}
	read("a", 40)
	read("b", 40)
	read("a", 40) // from the cache, and so the latest used
	require.EqualValues(t, 2, loads.Load())
	read("c", 40) // drops b
	read("a", 40)
	require.EqualValues(t, 3, loads.Load())
	read("b", 40)
	require.EqualValues(t, 4, loads.Load())
	read("large", 101) // given, not kept
	read("large", 101)
	require.EqualValues(t, 6, loads.Load())
	require.EqualValues(t, 80, c.Size())
}

// What was read with one storage configuration is not there for another (rule 5), nor one file for another of its name.
func TestRule5KeysOfOthersLendNoAccess(t *testing.T) {
	c := NewCache(1 << 20)
	_, err := get(t.Context(), c, Key{Scope: [32]byte{1}, Path: "p", Length: 7, Of: "x"}, constant(new(atomic.Int32), "secret", 1))
	require.NoError(t, err)
	denied := errors.New("access denied")
	for _, k := range []Key{
		{Scope: [32]byte{2}, Path: "p", Length: 7, Of: "x"}, {Path: "p", Length: 7, Of: "x"},
		{Scope: [32]byte{1}, Path: "p", Length: 8, Of: "x"}, {Scope: [32]byte{1}, Path: "p", Length: 7, Of: "y"},
	} {
		_, err := get(t.Context(), c, k, func(context.Context) (string, int64, error) { return "", 0, denied })
		require.ErrorIs(t, err, denied)
	}
}

func TestCallersShareOneLoad(t *testing.T) {
	c, loads := NewCache(1<<20), new(atomic.Int32)
	release := make(chan struct{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			v, err := get(context.Background(), c, key("k"), func(context.Context) (string, int64, error) {
				<-release
				return fmt.Sprint(loads.Add(1)), 1, nil
			})
			if err != nil || v != "1" {
				t.Errorf("got %q, %v", v, err)
			}
		})
	}
	close(release)
	wg.Wait()
	require.EqualValues(t, 1, loads.Load())
}

func TestFailuresAreNotKept(t *testing.T) {
	c := NewCache(1 << 20)
	_, err := get(t.Context(), c, key("k"), func(context.Context) (string, int64, error) { return "", 0, errors.New("no network") })
	require.ErrorContains(t, err, "no network")
	require.Panics(t, func() {
		_, _ = get(t.Context(), c, key("k"), func(context.Context) (string, int64, error) { panic("damaged") })
	})
	v, err := get(t.Context(), c, key("k"), constant(new(atomic.Int32), "v", 1))
	require.NoError(t, err)
	require.Equal(t, "v", v)
}

// A statement that is cancelled while it reads does not take those with it that wait for the same file.
func TestCancelledReaderIsReplaced(t *testing.T) {
	c := NewCache(1 << 20)
	ctx, cancel := context.WithCancel(t.Context())
	reading, first := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := get(ctx, c, key("k"), func(ctx context.Context) (string, int64, error) {
			close(reading)
			<-ctx.Done()
			return "", 0, ctx.Err()
		})
		first <- err
	}()
	<-reading
	second := make(chan string, 1)
	go func() {
		v, _ := get(context.Background(), c, key("k"), constant(new(atomic.Int32), "v", 1))
		second <- v
	}()
	waiting, stop := context.WithCancel(t.Context())
	stop()
	_, err := get(waiting, c, key("k"), constant(new(atomic.Int32), "v", 1))
	require.ErrorIs(t, err, context.Canceled, "waiting ends with the waiter")
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	require.Equal(t, "v", <-second)
}

func TestNoCacheKeepsNothing(t *testing.T) {
	loads := new(atomic.Int32)
	for range 2 {
		_, err := get(t.Context(), nil, key("k"), constant(loads, "v", 1))
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, loads.Load())
	require.Zero(t, (*Cache)(nil).Size())
}
