package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"google.golang.org/protobuf/proto"
)

// The generated messages print all their fields, and bytes that hold a message print its strings. So secrets stand in them
// covered: combined with a stream of bytes that whoever reads them for good can make again. This is no encryption (that is
// TLS's work): it keeps secrets out of logs, errors and core dumps, where nobody reads them on purpose. Equal texts are
// covered equally, since encoding is deterministic.

// coverSize is the length of the seed that stands before what it covers.
const coverSize = 16

var errCover = errors.New("damaged")

// cover gives nil for nothing.
func cover(plain []byte) []byte {
	if len(plain) == 0 {
		return nil
	}
	seed := seedOf(plain)
	return append(seed, stream(seed, plain)...)
}

func uncover(covered []byte) ([]byte, error) {
	if len(covered) == 0 {
		return nil, nil
	}
	if len(covered) <= coverSize {
		return nil, errCover
	}
	plain := stream(covered[:coverSize], covered[coverSize:])
	if !bytes.Equal(seedOf(plain), covered[:coverSize]) {
		return nil, errCover
	}
	return plain, nil
}

func seedOf(plain []byte) []byte {
	sum := sha256.Sum256(append([]byte("serac.v1.cover\x00"), plain...))
	return sum[:coverSize:coverSize]
}

// stream combines text with the stream that a seed makes.
func stream(seed, text []byte) []byte {
	out := make([]byte, len(text))
	for at := 0; at < len(text); at += sha256.Size {
		block := sha256.Sum256(binary.BigEndian.AppendUint64(bytes.Clone(seed), uint64(at)))
		for i := at; i < min(at+sha256.Size, len(text)); i++ {
			out[i] = text[i] ^ block[i-at]
		}
	}
	return out
}

func coverFileIO(f FileIO) []byte {
	if f.Len() == 0 {
		return nil
	}
	m := &seracv1.Storage{Properties: map[string][]byte{}}
	for key, value := range f.Reveal() {
		m.Properties[key] = []byte(value)
	}
	plain, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil { // only for keys that are no UTF-8, and NewFileIO keeps none
		panic(fmt.Sprintf("wire: serialize storage configuration %s: %v", f, err))
	}
	return cover(plain)
}

func uncoverFileIO(covered []byte) (FileIO, error) {
	plain, err := uncover(covered)
	if err != nil {
		return FileIO{}, err
	}
	m := &seracv1.Storage{}
	if err := proto.Unmarshal(plain, m); err != nil {
		return FileIO{}, fmt.Errorf("parse it: %w", errCover) // the parser's error could repeat what it read
	}
	properties := make(map[string]string, len(m.GetProperties()))
	for key, value := range m.GetProperties() {
		properties[key] = string(value)
	}
	return NewFileIO(properties), nil
}
