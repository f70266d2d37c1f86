package conformance

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The environment of a test that was started again: the test's name, and the file for its answer.
const (
	childName = "SERAC_CONFORMANCE_TEST"
	childFile = "SERAC_CONFORMANCE_FILE"
)

// childOf says whether this process was started by processes, in another one, for this test.
func childOf(t *testing.T) bool { return os.Getenv(childName) == t.Name() }

// report writes what the cases encode to, in another order than that of the first process.
func (s *suite) report(t *testing.T) {
	sums, err := s.sums(true)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(sums)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv(childFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// sums are the digests of what the cases encode to.
func (s *suite) sums(backwards bool) (map[string]string, error) {
	cases := slices.Clone(s.Cases)
	if backwards {
		slices.Reverse(cases)
	}
	sums := map[string]string{}
	for _, c := range cases {
		b, err := s.encode(c.Node, s.tables(c))
		if err != nil {
			return nil, fmt.Errorf("%s: encode: %w", c.Name, err)
		}
		sums[c.Name] = fmt.Sprintf("%x", sha256.Sum256(b))
	}
	return sums, nil
}

// processes starts this test again in a process of its own, whose maps have other orders and whose memory has other
// addresses, and compares what the cases encode to.
func (s *suite) processes(t *testing.T) error {
	parent, _, _ := cutLast(t.Name(), "/") // the subtest's own part
	here, err := s.sums(false)
	if err != nil {
		return err
	}
	var pattern []string
	for _, part := range strings.Split(parent, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	answer := filepath.Join(t.TempDir(), "sums.json")
	cmd := exec.Command(os.Args[0], "-test.run="+strings.Join(pattern, "/"), "-test.count=1")
	cmd.Env = append(os.Environ(), childName+"="+parent, childFile+"="+answer)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s in another process: %w\n%s", parent, err, out)
	}
	b, err := os.ReadFile(answer)
	if err != nil {
		return fmt.Errorf("the test in the other process did not come to conformance.Run: %w", err)
	}
	var there map[string]string
	if err := json.Unmarshal(b, &there); err != nil {
		return fmt.Errorf("read the other process's answer: %w", err)
	}
	if len(there) != len(here) {
		return fmt.Errorf("there are %d cases in another process, %d in this", len(there), len(here))
	}
	for _, name := range slices.Sorted(maps.Keys(here)) {
		if there[name] != here[name] {
			return fmt.Errorf("%s encodes to other bytes in another process", name)
		}
	}
	return nil
}

// cutLast cuts a text at the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}
