// Package process runs the serac binary as a user would, for whole-system tests: it builds it, starts serve, scheduler
// and executor processes on free ports, waits until they are ready, talks Flight SQL to them, and stops them.
package process
