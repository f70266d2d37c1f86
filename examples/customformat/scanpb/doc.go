// Package scanpb is the messages of the example table format, generated from scan.proto by `make proto`.
package scanpb
