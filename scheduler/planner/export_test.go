package planner

// SplitAlways are the options with which every partition that may be read in parts is.
func (o Options) SplitAlways() Options {
	o.splitAlways = true
	return o
}
