// Package secrets holds every exported type of the module that may hold a credential to one rule: however it is printed,
// the credential does not show. types.go finds the types in the source; the test has a marked value of each, or says why
// there can be none.
package secrets
