package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/plan"
	"google.golang.org/protobuf/proto"
)

// users is how many use the codec at a time.
const users = 8

// concurrency lets several users encode and decode all cases at a time, each in another order. Run under -race, it also
// finds state that is shared and not guarded.
func (s *suite) concurrency() error {
	type encoded struct {
		Case
		bytes []byte
	}
	var all []encoded
	for _, c := range s.Cases {
		b, err := s.encode(c.Node, s.tables(c))
		if err != nil {
			return fmt.Errorf("%s: encode: %w", c.Name, err)
		}
		all = append(all, encoded{c, b})
	}
	failures := make([]error, users)
	var group sync.WaitGroup
	for user := range users {
		group.Go(func() {
			failures[user] = guard(func() error {
				for i := range all {
					c := all[(i+user*len(all)/users)%len(all)]
					f, err := s.decode(c.bytes)
					if err != nil {
						return fmt.Errorf("%s: decode: %w", c.Name, err)
					}
					if err := equal(c.Node, f.Root); err != nil {
						return fmt.Errorf("%s: %w", c.Name, err)
					}
					b, err := s.encode(f.Root, s.tables(c.Case))
					if err != nil {
						return fmt.Errorf("%s: encode: %w", c.Name, err)
					}
					if !bytes.Equal(c.bytes, b) {
						return fmt.Errorf("%s encodes to other bytes while others use the codec", c.Name)
					}
				}
				return nil
			})
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

// registry registers the extensions in another order, and twice.
func (s *suite) registry() error {
	if len(s.Extensions) == 0 {
		return errNotTried
	}
	forth, back := codec.NewRegistry(), codec.NewRegistry()
	for _, x := range s.Extensions {
		if err := forth.Register(x); err != nil {
			return err
		}
	}
	backwards := slices.Clone(s.Extensions)
	slices.Reverse(backwards)
	for _, x := range backwards {
		if err := back.Register(x); err != nil {
			return err
		}
	}
	if err := forth.Compare(back.Names()); err != nil {
		return fmt.Errorf("registered in another order: %w", err)
	}
	for _, x := range s.Extensions {
		name := x.Message().ProtoReflect().Descriptor().FullName()
		if x.Message() == nil || proto.Size(x.Message()) != 0 {
			return fmt.Errorf("the codec of %s: Message is not empty", name)
		}
		if x.Message() == x.Message() {
			return fmt.Errorf("the codec of %s: Message is the same one each time: what is decoded would share it", name)
		}
		if forth.Register(x) == nil {
			return fmt.Errorf("%s was registered twice", name)
		}
		if _, err := x.Encode(foreign{}); err == nil {
			return fmt.Errorf("the codec of %s encodes a node that is not its own", name)
		}
	}
	// What others register changes no bytes.
	for _, c := range s.Cases {
		a, errA := codec.New(forth).EncodeFragment(c.Node, s.tables(c))
		b, errB := codec.New(back).EncodeFragment(c.Node, s.tables(c))
		if errA != nil || errB != nil {
			return fmt.Errorf("%s: encode: %w", c.Name, errors.Join(errA, errB))
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("%s encodes to other bytes when codecs are registered in another order", c.Name)
		}
	}
	return nil
}

// foreign is a node that no codec knows.
type foreign struct{}

func (foreign) Name() string                     { return "conformance.Foreign" }
func (foreign) Explain() string                  { return "Foreign" }
func (foreign) Schema([]plan.Schema) plan.Schema { return nil }
