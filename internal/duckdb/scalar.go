package duckdb

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// ScalarFunction is a scalar function in Go that works on a chunk of up to 2,048 rows at a time, on DuckDB's own memory.
// It must depend on its arguments alone. DuckDB calls it from many threads.
type ScalarFunction struct {
	Name string
	// Params are the arguments' types as DuckDB reads them in a CAST; "ANY" takes every type as it is.
	Params  []string
	Returns string
	// Fn fills out for rows 0..out.Len(). It is called for NULL arguments too, and decides what comes of them.
	// Neither args nor out may be kept. The error is the statement's.
	Fn func(args []Vector, out Vector) error
}

// Vector is a column of values in DuckDB's memory, of an argument or of the result.
type Vector struct {
	handle   bindings.Vector
	data     unsafe.Pointer
	validity unsafe.Pointer // bits, one a row; nil when no row is NULL
	n        int
}

func newVector(handle bindings.Vector, n int) Vector {
	return Vector{
		handle: handle, n: n,
		data:     bindings.VectorGetData(handle),
		validity: bindings.VectorGetValidity(handle),
	}
}

// Len is the number of rows.
func (v Vector) Len() int { return v.n }

// Type is the vector's type as DuckDB reads it in a CAST. It costs a microsecond: ask once a call.
func (v Vector) Type() string {
	t := bindings.VectorGetColumnType(v.handle)
	defer bindings.DestroyLogicalType(&t)
	return typeText(t)
}

// Valid says that row i is not NULL.
func (v Vector) Valid(i int) bool {
	if v.validity == nil {
		return true
	}
	word := *(*uint64)(unsafe.Add(v.validity, i/64*8))
	return word>>(i%64)&1 == 1
}

// AllValid says that no row is NULL, if that can be seen without looking at the rows.
func (v Vector) AllValid() bool { return v.validity == nil }

// SetNull makes row i of a result NULL.
func (v *Vector) SetNull(i int) {
	if v.validity == nil {
		bindings.VectorEnsureValidityWritable(v.handle)
		v.validity = bindings.VectorGetValidity(v.handle)
	}
	*(*uint64)(unsafe.Add(v.validity, i/64*8)) &^= 1 << (i % 64)
}

// HugeInt is a 128-bit integer as DuckDB lays it out.
type HugeInt struct {
	Lower uint64
	Upper int64
}

// Physical are the Go types of DuckDB's fixed-width values. Dates are int32 days; times and timestamps int64 in their
// unit; decimals int16, int32, int64 or HugeInt up to 4, 9, 18 and 38 digits; UUIDs HugeInt with the top bit flipped.
type Physical interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | HugeInt
}

// Slice is the vector's memory: as many values as it has rows, with anything where a row is NULL. T must be the
// physical type of the vector's type.
func Slice[T Physical](v Vector) []T { return unsafe.Slice((*T)(v.data), v.n) }

// stringEntry is DuckDB's string_t: up to 12 bytes inline, else a prefix and a pointer.
type stringEntry struct {
	length uint32
	prefix [4]byte
	rest   [8]byte // more inline bytes, or the pointer
}

const inlineBytes = 12

// Bytes are the bytes of row i of a VARCHAR or BLOB vector, in DuckDB's memory.
func (v Vector) Bytes(i int) []byte {
	entry := (*stringEntry)(unsafe.Add(v.data, uintptr(i)*unsafe.Sizeof(stringEntry{})))
	if entry.length <= inlineBytes {
		return unsafe.Slice(&entry.prefix[0], entry.length)
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&entry.rest)), entry.length)
}

// SameBytes says that no row of a VARCHAR or BLOB vector is NULL and all are one value, which a constant is. It may miss
// some that are equal.
func (v Vector) SameBytes() bool {
	if v.validity != nil || v.n == 0 {
		return false
	}
	entries := unsafe.Slice((*stringEntry)(v.data), v.n)
	for _, e := range entries[1:] {
		if e != entries[0] {
			return false
		}
	}
	return true
}

// SetBytes sets row i of a VARCHAR or BLOB result. DuckDB copies the bytes; those of a VARCHAR must be UTF-8.
func (v Vector) SetBytes(i int, b []byte) {
	if len(b) <= inlineBytes {
		// Inline values are written in place: a call into C costs more than all else. DuckDB compares the padding too.
		entry := (*stringEntry)(unsafe.Add(v.data, uintptr(i)*unsafe.Sizeof(stringEntry{})))
		*entry = stringEntry{length: uint32(len(b))}
		copy(unsafe.Slice(&entry.prefix[0], inlineBytes), b)
		return
	}
	bindings.VectorAssignStringElementLen(v.handle, bindings.IdxT(i), b)
}

func (f *ScalarFunction) call(input bindings.DataChunk, output bindings.Vector) error {
	n := int(bindings.DataChunkGetSize(input))
	args := make([]Vector, bindings.DataChunkGetColumnCount(input))
	for i := range args {
		args[i] = newVector(bindings.DataChunkGetVector(input, bindings.IdxT(i)), n)
	}
	return f.Fn(args, newVector(output, n))
}

// registerScalars registers functions for all connections; those of one name become overloads.
func (db *DB) registerScalars(ctx context.Context, conn *Conn, functions []ScalarFunction) error {
	byName := make(map[string][]*ScalarFunction)
	var names []string
	for i := range functions {
		f := &functions[i]
		if byName[f.Name] == nil {
			names = append(names, f.Name)
		}
		byName[f.Name] = append(byName[f.Name], f)
	}
	for _, name := range names {
		if err := db.registerOverloads(ctx, conn, name, byName[name]); err != nil {
			return fmt.Errorf("register scalar function %q: %w", name, err)
		}
	}
	return nil
}

func (db *DB) registerOverloads(ctx context.Context, conn *Conn, name string, functions []*ScalarFunction) error {
	set := bindings.CreateScalarFunctionSet(name)
	defer bindings.DestroyScalarFunctionSet(&set)
	for _, f := range functions {
		if err := db.addOverload(ctx, set, f); err != nil {
			return err
		}
	}
	if bindings.RegisterScalarFunctionSet(conn.handle, set) == bindings.StateError {
		return errors.New("duckdb refused it")
	}
	return nil
}

func (db *DB) addOverload(ctx context.Context, set bindings.ScalarFunctionSet, f *ScalarFunction) error {
	handle := bindings.CreateScalarFunction()
	defer bindings.DestroyScalarFunction(&handle)
	bindings.ScalarFunctionSetName(handle, f.Name)
	for _, param := range f.Params {
		t, err := db.types.resolve(ctx, db, param)
		if err != nil {
			return err
		}
		bindings.ScalarFunctionAddParameter(handle, t)
	}
	returns, err := db.types.resolve(ctx, db, f.Returns)
	if err != nil {
		return err
	}
	bindings.ScalarFunctionSetReturnType(handle, returns)
	bindings.ScalarFunctionSetSpecialHandling(handle) // of NULL: DuckDB would answer NULL itself where all is constant
	bindings.ScalarFunctionSetFunction(handle, scalarCallback())
	own := *f
	bindings.ScalarFunctionSetExtraInfo(handle, newExtra(&own), releaseExtra())
	if bindings.AddScalarFunctionToSet(set, handle) == bindings.StateError {
		return errors.New("duckdb refused the overload")
	}
	return nil
}
