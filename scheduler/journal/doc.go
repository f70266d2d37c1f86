// Package journal keeps a note on disk of every write that is under way, so that a scheduler that is killed in the middle
// of one leaves no files behind for good: the next scheduler finds the note and removes what was not committed. It knows
// names and ids only; what to do about them is package scheduler's (recover.go).
package journal
