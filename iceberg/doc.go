// Package iceberg maps between Iceberg's schemas and Serac's: types, columns and their field ids, partition specs as
// DDL writes them, and single values in the specification's binary form.
//
// The rooms beside it do the work: catalog (namespaces and tables), scan (files planned once, pruned and grouped), commit
// (written files become one snapshot), and for the executors read, write and object. This package opens nothing and
// reads no file; it may import plan alone. iceberg-go is imported as ice throughout.
package iceberg
