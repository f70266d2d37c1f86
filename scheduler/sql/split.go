package sql

// Split cuts a text into its statements, without their semicolons and without the spaces and comments around them.
// Empty statements are left out.
func Split(text string) ([]string, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	var statements []string
	start, end := -1, 0
	for _, t := range tokens {
		if t.kind == tokenEnd || text[t.start:t.end] == ";" {
			if start >= 0 {
				statements = append(statements, text[start:end])
			}
			start = -1
			continue
		}
		if start < 0 {
			start = t.start
		}
		end = t.end
	}
	return statements, nil
}

// Terminated says whether a text, as far as it has been typed, ends with a statement's semicolon. A semicolon in a string
// or comment that is still open does not count.
func Terminated(text string) bool {
	tokens, err := tokenize(text)
	if err != nil || len(tokens) < 2 {
		return false
	}
	last := tokens[len(tokens)-2]
	return text[last.start:last.end] == ";"
}
