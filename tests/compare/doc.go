// Package compare says whether two results are the same: the rows as a multiset, the order where a query states one,
// floating-point numbers within a tolerance. A result is compared by value and by Arrow type.
package compare
