// Command serac is the whole of Serac in one binary: a server on one machine, a scheduler and executors on many, and a
// SQL client.
package main

import "github.com/seracdb/serac/cli"

// version is set by the build.
var version = "dev"

func main() { cli.Main(cli.Options{Version: version}) }
