// Command serac is Serac with the example table format built in.
package main

import (
	"github.com/seracdb/serac/cli"
	"github.com/seracdb/serac/examples/customformat"
	"github.com/seracdb/serac/format"
)

func main() {
	cli.Main(cli.Options{Version: "customformat", Formats: []format.Format{customformat.Format{}}})
}
