package sql

import "testing"

func TestTerminated(t *testing.T) {
	for text, want := range map[string]bool{
		"":                          false,
		"select 1":                  false,
		"select 1;":                 true,
		"select 1; -- done;\n":      true,
		"select 1 -- done;":         false,
		"select 1; select 2":        false,
		"select ';":                 false,
		"select ';';":               true,
		"select $$a;":               false,
		"select $$a;$$;":            true,
		"select 1; /* not yet;":     false,
		`select "a;`:                false,
		";":                         true,
		"-- nothing but a comment;": false,
	} {
		if got := Terminated(text); got != want {
			t.Errorf("Terminated(%q) = %v", text, got)
		}
	}
}
