package duckdb

/*
#include <stdint.h>
#include <stdlib.h>

void serac_duckdb_scalar(void *info, void *input, void *output);
void serac_duckdb_stub_bind(void *info);
void serac_duckdb_stub_init(void *info);
void serac_duckdb_stub_scan(void *info, void *output);
void serac_duckdb_release(void *handle);

typedef void (*serac_duckdb_three)(void *, void *, void *);
typedef void (*serac_duckdb_two)(void *, void *);
typedef void (*serac_duckdb_one)(void *);
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// newExtra puts a Go value behind a pointer that C may keep. DuckDB frees it with releaseExtra.
func newExtra(v any) unsafe.Pointer {
	p := C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0))))
	*(*cgo.Handle)(p) = cgo.NewHandle(v)
	return p
}

func extra[T any](p unsafe.Pointer) T { return (*(*cgo.Handle)(p)).Value().(T) }

func releaseExtra() unsafe.Pointer {
	return unsafe.Pointer(C.serac_duckdb_one(C.serac_duckdb_release))
}

func scalarCallback() unsafe.Pointer {
	return unsafe.Pointer(C.serac_duckdb_three(C.serac_duckdb_scalar))
}

func stubCallbacks() (bind, init, scan unsafe.Pointer) {
	return unsafe.Pointer(C.serac_duckdb_one(C.serac_duckdb_stub_bind)),
		unsafe.Pointer(C.serac_duckdb_one(C.serac_duckdb_stub_init)),
		unsafe.Pointer(C.serac_duckdb_two(C.serac_duckdb_stub_scan))
}

//export serac_duckdb_release
func serac_duckdb_release(p unsafe.Pointer) {
	(*(*cgo.Handle)(p)).Delete()
	C.free(p)
}

// A panic must not unwind through C: it becomes the statement's error.

//export serac_duckdb_scalar
func serac_duckdb_scalar(infoPtr, input, output unsafe.Pointer) {
	info := bindings.FunctionInfo{Ptr: infoPtr}
	defer func() {
		if r := recover(); r != nil {
			bindings.ScalarFunctionSetError(info, fmt.Sprintf("panic in a scalar function: %v", r))
		}
	}()
	f := extra[*ScalarFunction](bindings.ScalarFunctionGetExtraInfo(info))
	if err := f.call(bindings.DataChunk{Ptr: input}, bindings.Vector{Ptr: output}); err != nil {
		bindings.ScalarFunctionSetError(info, f.Name+": "+err.Error())
	}
}

//export serac_duckdb_stub_bind
func serac_duckdb_stub_bind(infoPtr unsafe.Pointer) {
	info := bindings.BindInfo{Ptr: infoPtr}
	defer func() {
		if r := recover(); r != nil {
			bindings.BindSetError(info, fmt.Sprintf("panic in a stub table function: %v", r))
		}
	}()
	if err := extra[*stubScan](bindings.BindGetExtraInfo(info)).bind(info); err != nil {
		bindings.BindSetError(info, err.Error())
	}
}

//export serac_duckdb_stub_init
func serac_duckdb_stub_init(unsafe.Pointer) {}

//export serac_duckdb_stub_scan
func serac_duckdb_stub_scan(infoPtr, _ unsafe.Pointer) {
	info := bindings.FunctionInfo{Ptr: infoPtr}
	name := extra[*stubScan](bindings.FunctionGetExtraInfo(info)).name
	bindings.FunctionSetError(info, name+" stands for a table while a statement is planned; it cannot be read")
}
