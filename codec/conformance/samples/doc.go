// Package samples has plans with every node and every expression in which every exported field is set: what tests of codecs,
// and of whatever else walks over plans, try. A new node or expression gets its sample in samples.go; the conformance suite
// fails until it has one.
package samples
