package script

// Jq reads a jq program. jq starts nothing and writes nothing; import and
// include read files, input_filename and $__loc__ tell nothing new.
func Jq(text string) Facts {
	return words(text, map[string]bool{"import": true, "include": true, "get_search_list": true, "modulemeta": true}, nil)
}

// Yq reads an expression of yq: load reads files, system starts programs, env
// shows variables.
func Yq(text string) Facts {
	reads := map[string]bool{"load": true, "load_str": true, "load_xml": true, "load_props": true, "load_base64": true, "strload": true, "import": true, "include": true}
	runs := map[string]bool{"system": true, "eval": true, "env": true, "strenv": true, "envsubst": true}
	return words(text, reads, runs)
}

// words looks for names outside of strings.
func words(text string, reads, runs map[string]bool) (f Facts) {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\'':
			end := i + 1
			for end < len(text) && text[end] != c {
				if text[end] == '\\' {
					if end+1 < len(text) && text[end+1] == '(' { // an expression within the string
						return words(text[:i]+" "+text[end+1:], reads, runs)
					}
					end++
				}
				end++
			}
			if c == '\'' && end >= len(text) {
				end = i
			}
			i = end + 1
		case isWord(c) && c != '.':
			from := i
			for i < len(text) && isWord(text[i]) && text[i] != '.' {
				i++
			}
			w := text[from:i]
			if reads[w] {
				f.Reads = append(f.Reads, "")
			}
			f.Runs = f.Runs || runs[w]
		default:
			i++
		}
	}
	return f
}
