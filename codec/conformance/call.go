package conformance

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

// errNotTried says that there was nothing to try.
var errNotTried = errors.New("nothing to try")

// panicked is a panic of the codec. It is an error that no bytes may cause.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// guard turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v, stack: string(debug.Stack())}
		}
	}()
	return f()
}

func isPanic(err error) bool {
	var p *panicked
	return errors.As(err, &p)
}

func (s *suite) encode(n plan.Node, tables []*wire.Table) (b []byte, err error) {
	err = guard(func() error {
		var failed error
		b, failed = s.Codec.EncodeFragment(n, tables)
		return failed
	})
	return b, err
}

func (s *suite) decode(b []byte) (f *codec.Fragment, err error) {
	err = guard(func() error {
		var failed error
		f, failed = s.Codec.DecodeFragment(b)
		if failed == nil && (f == nil || f.Root == nil) {
			return errors.New("neither a plan nor an error came back")
		}
		return failed
	})
	return f, err
}
