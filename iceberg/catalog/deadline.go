package catalog

import "context"

// within runs f and returns when f does or when ctx is done, whichever is first: catalogs exist that do not listen to a
// context while they wait for a lock, a file or a server (rule 25). A call left behind goes on until it ends by itself;
// its result is dropped, so f must be safe to abandon.
func within[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var zero T
	if err := context.Cause(ctx); err != nil {
		return zero, err
	}
	done := make(chan result, 1)
	go func() {
		v, err := f(ctx)
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		// Prefer a result that is there: the work is done, whatever the clock says.
		select {
		case r := <-done:
			return r.value, r.err
		default:
			return zero, context.Cause(ctx)
		}
	}
}
