package executor

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// hostID names the machine: its name, and the boot's id where there is one, because names are not unique.
func hostID() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		name += "/" + string(bytes.TrimSpace(boot))
	}
	return name
}

// residentBytes is the process's resident memory; 0 where the system does not say.
func residentBytes() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// dirBytes is the size of the files below dir; files that go meanwhile do not count.
func dirBytes(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}
