package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
)

// Bounds on what reading damaged bytes may allocate, on average over a case's damaged copies.
const (
	maxAllocated        = 1 << 20
	maxAllocatedPerByte = 2000
)

// truncation cuts the bytes off at every length, which must be an error; and the messages inside at every length, with the
// lengths around them put right, which must be an error or a plan of its own.
func (s *suite) truncation(c Case) error {
	b, err := s.encode(c.Node, s.tables(c))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	for end := range b {
		_, err := s.decode(bytes.Clone(b[:end]))
		if err == nil {
			return fmt.Errorf("%d of %d bytes decode", end, len(b))
		}
		if isPanic(err) {
			return fmt.Errorf("%d of %d bytes: %w", end, len(b), err)
		}
	}
	p, err := open(b)
	if err != nil {
		return err
	}
	return p.eachAny(func(any *anypb.Any, pack func() error) error {
		value := any.GetValue()
		defer func() {
			any.Value = value
			_ = pack()
		}()
		for end := range value {
			any.Value = value[:end]
			if err := pack(); err != nil {
				return err
			}
			if err := s.survives(p, c); err != nil {
				return fmt.Errorf("%s cut to %d of %d bytes: %w", any.GetTypeUrl(), end, len(value), err)
			}
		}
		return nil
	})
}

// survives says that a changed fragment is an error or a plan of its own.
func (s *suite) survives(p *parsed, c Case) error {
	b, err := p.bytes()
	if err != nil {
		return err
	}
	return s.soundOrError(b, c)
}

// soundOrError says that bytes give an error or a plan that encodes, to bytes that give an equal plan.
func (s *suite) soundOrError(b []byte, c Case) error {
	f, err := s.decode(b)
	if isPanic(err) {
		return err
	}
	if err != nil {
		return nil
	}
	tables := make([]*wire.Table, 0, len(f.Tables))
	for _, t := range f.Tables {
		tables = append(tables, t)
	}
	again, err := s.encode(f.Root, tables)
	if err != nil {
		return fmt.Errorf("what decoded does not encode: %w", err)
	}
	g, err := s.decode(again)
	if err != nil {
		return fmt.Errorf("what decoded encodes to bytes that do not decode: %w", err)
	}
	if plan.Explain(f.Root) != plan.Explain(g.Root) {
		return errors.New("what decoded encodes to another plan")
	}
	return nil
}

// bitFlips flips bits.
func (s *suite) bitFlips(c Case) error {
	b, err := s.encode(c.Node, s.tables(c))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := rand.New(rand.NewPCG(1, uint64(len(b))))
	for i := range s.Flips {
		flipped := bytes.Clone(b)
		var at []int
		for range 1 + i%3 {
			bit := r.IntN(8 * len(b))
			at = append(at, bit)
			flipped[bit/8] ^= 1 << (bit % 8)
		}
		if err := s.soundOrError(flipped, c); err != nil {
			return fmt.Errorf("with bits %v of %d flipped: %w", at, 8*len(b), err)
		}
	}
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) / uint64(s.Flips)
	if limit := uint64(maxAllocated + maxAllocatedPerByte*len(b)); allocated > limit {
		return fmt.Errorf("reading %d damaged bytes allocates %d bytes, more than %d", len(b), allocated, limit)
	}
	return nil
}

// The sizes of hostile bytes.
const (
	hostileSize  = 80 << 20
	hostileDepth = 100_000
)

// limits reads bytes that are too many, or too deeply nested: errors, soon.
func (s *suite) limits() error {
	deep := []byte{}
	for range 3 { // a Fragment's plan (field 3) and all below: nothing but messages in messages
		deep = nest(deep, hostileDepth)
	}
	for name, b := range map[string][]byte{
		"nothing":      {},
		"zeros":        make([]byte, hostileSize),
		"ones":         bytes.Repeat([]byte{0xff}, hostileSize),
		"messages":     deep,
		"deep plan":    protowire.AppendBytes(protowire.AppendTag([]byte{8, 1}, 3, protowire.BytesType), deep),
		"long length":  {0x1a, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"large number": protowire.AppendVarint([]byte{8}, 1<<63),
	} {
		_, err := s.decode(b)
		if err == nil {
			return fmt.Errorf("%s decode", name)
		}
		if isPanic(err) {
			return fmt.Errorf("%s: %w", name, err)
		}
		if len(err.Error()) > 64<<10 {
			return fmt.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
	}
	return nil
}

// nest is a message in a message, and so on, each as field 2 (in Substrait's relations and expressions, and in ours, that is
// an input more often than not).
func nest(inner []byte, levels int) []byte {
	// The lengths are known from the inside out, the bytes are written from the outside in.
	sizes := make([]int, levels)
	size := len(inner)
	for i := levels - 1; i >= 0; i-- {
		sizes[i] = size
		size += 1 + protowire.SizeVarint(uint64(size))
	}
	out := make([]byte, 0, size)
	for _, n := range sizes {
		out = protowire.AppendVarint(append(out, 2<<3|byte(protowire.BytesType)), uint64(n))
	}
	return append(out, inner...)
}
