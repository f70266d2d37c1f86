package codec

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// messageVersions are the versions of Serac's own messages that stand in google.protobuf.Any; a message that is not listed
// has version 1. A version rises when the meaning of the message's old fields changes: older readers then refuse it, by
// name and version. A field that is added needs no new version: readers refuse fields that they do not know, but for
// hints.
//
// The version stands in the type URL, "type.googleapis.com/v2/serac.v1.IcebergScan"; version 1 has none there.
var messageVersions = map[string]int{}

// Hints are fields that a reader may ignore when it does not know them: they change how fast, never what. They have these
// numbers, in messages of ours and of extensions.
const (
	firstHint protoreflect.FieldNumber = 1000
	lastHint  protoreflect.FieldNumber = 1999
)

const typeURLPrefix = "type.googleapis.com/"

// currentVersion is the version that is written, and the newest that is read.
func currentVersion(name string) int {
	if v, ok := messageVersions[name]; ok {
		return v
	}
	return 1
}

// packed is a message in an Any, always the same bytes.
func packed(m proto.Message) (*anypb.Any, error) {
	name := string(m.ProtoReflect().Descriptor().FullName())
	value, err := marshal.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("serialize %s: %w", name, err)
	}
	url := typeURLPrefix + name
	if v := currentVersion(name); v > 1 {
		url = fmt.Sprintf("%sv%d/%s", typeURLPrefix, v, name)
	}
	return &anypb.Any{TypeUrl: url, Value: value}, nil
}

// unpack parses the message in an Any, which must be of m's kind, in a version that is read.
func unpack(any *anypb.Any, m proto.Message) error {
	if got, want := messageName(any), string(m.ProtoReflect().Descriptor().FullName()); got != want {
		return fmt.Errorf("message %q where %s belongs", got, want)
	}
	if err := checkVersion(any); err != nil {
		return err
	}
	return parse(any.GetValue(), m)
}

// messageName is the full name of the message in an Any.
func messageName(any *anypb.Any) string {
	url := any.GetTypeUrl()
	return url[strings.LastIndexByte(url, '/')+1:]
}

// messageVersion is the version of the message in an Any.
func messageVersion(any *anypb.Any) (int, error) {
	host, _, found := cutLast(any.GetTypeUrl(), "/")
	if !found {
		return 1, nil
	}
	_, segment, found := cutLast(host, "/")
	digits, is := strings.CutPrefix(segment, "v")
	if !found || !is {
		return 1, nil
	}
	v, err := strconv.Atoi(digits)
	if err != nil || v < 1 {
		return 0, fmt.Errorf("type URL %q has no version in it", any.GetTypeUrl())
	}
	return v, nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// checkVersion refuses a version that is newer than what is read.
func checkVersion(any *anypb.Any) error {
	v, err := messageVersion(any)
	if err != nil {
		return err
	}
	if name := messageName(any); v > currentVersion(name) {
		return fmt.Errorf("%s has version %d, this Serac reads version %d", name, v, currentVersion(name))
	}
	return nil
}

// firstThatMatters is the number of the first unknown field that is no hint, and whether there is one. Bytes that cannot be
// read matter.
func firstThatMatters(m protoreflect.Message) (protoreflect.FieldNumber, bool) {
	unknown := m.GetUnknown()
	hints := !strings.HasPrefix(string(m.Descriptor().FullName()), "substrait.")
	for len(unknown) > 0 {
		number, _, length := protowire.ConsumeField(unknown)
		if length < 0 {
			return 0, true
		}
		if !hints || number < firstHint || number > lastHint {
			return number, true
		}
		unknown = unknown[length:]
	}
	return 0, false
}
