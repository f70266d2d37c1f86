// Package conformance is a test suite for codecs of plan nodes: Serac's own, and those of other table formats and engine
// builders (codec.Extension). A test of yours calls Run with your codec and a few plans:
//
//	func TestCodecConforms(t *testing.T) {
//		conformance.Run(t, conformance.Options{
//			Extensions: []codec.Extension{pagesCodec{}},
//			Cases:      []conformance.Case{{Name: "scan", Node: &plan.Extension{Impl: &pagesScan{...}}}},
//		})
//	}
//
// The example of Run is complete. The codec is held to this, each a subtest of its own:
//
//   - round trip: encoded, decoded, encoded and decoded again, bytes and plans are equal, in whatever order maps are read
//   - schema and explain: both survive
//   - rows: the decoded plan gives the plan's rows (Options.Rows runs a plan)
//   - size: the bytes keep to a budget
//   - secrets: no way to print the plan, the tables, the bytes or an error shows one
//   - truncation: what is cut off is an error, never a panic; so for the message inside, or it is a plan of its own
//   - bit flips: an error or a plan of its own, never a panic, in bounded memory
//   - unknown fields: refused, with the field's number
//   - versions: a newer one is refused by name and version; what older ones wrote is read (Case.Older)
//   - composition: beside an Iceberg scan and beside itself, in a UNION ALL and in a join
//   - fields: each exported field is changed once; the bytes change, and the change survives
//   - limits: bytes that are too many or nest too deep are errors
//   - concurrency: many users at a time; run your test with -race
//   - registry: the order in which codecs are registered changes nothing, and a second registration is an error
//   - processes: another process makes the same bytes
//
// Package samples has plans with all of Serac's own nodes. Start reading in conformance.go; each check has its file.
package conformance
