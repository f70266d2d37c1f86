// Package workdir gives an executor a directory of its own on disk, and takes disk back from executors that died.
//
// Several executors may share a parent directory. Each holds a lock on its own directory for as long as its process
// lives; a directory whose lock is free belongs to nobody and goes when the next executor starts.
package workdir
