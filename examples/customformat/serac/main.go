// Command serac is Serac with the example table format built in.
package main

import (
	"github.com/seracdb/serac/cli"
	"github.com/seracdb/serac/examples/customformat"
	"github.com/seracdb/serac/format"
)

// version must be the same on scheduler and executors.
var version = "dev"

func main() {
	cli.Main(cli.Options{Version: version, Formats: []format.Format{customformat.Format{}}})
}
