// Package bench measures Serac beside DuckDB alone, in one run on the same files with the same threads, and prints
// ratios. Nothing here asserts a time: machines are noisy. Run it with `make bench`; -sf sets the scale factor.
package bench
