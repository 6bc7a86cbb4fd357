package args

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// mismatch turns the library's error into one that names the place in the
// arguments and repeats no value. The library writes "validating PLACE: " for
// each schema on the way down, PLACE being a pointer into the schema, and then
// the keyword that does not hold, before any value.
func mismatch(err error, raw []byte) error {
	text, place := err.Error(), ""
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			break
		}
		at, after, ok := strings.Cut(rest, ": ")
		if !ok {
			break
		}
		place, text = at, after
	}
	pointer := instance(place)
	return &fault{pointer: pointer, offset: offsetOf(raw, pointer), what: broken(text)}
}

// broken says which keyword does not hold.
func broken(text string) string {
	if strings.HasPrefix(text, "unexpected additional properties ") {
		return clip(text)
	}
	keyword, detail, _ := strings.Cut(text, ": ")
	switch keyword {
	case "required":
		return clip(detail)
	case "type":
		if i := strings.LastIndex(detail, " has type "); i >= 0 {
			return "it" + clip(detail[i:])
		}
	case "minLength", "minItems", "minProperties":
		return "it is too short"
	case "maxLength", "maxItems", "maxProperties":
		return "it is too long"
	case "minimum", "exclusiveMinimum":
		return "it is too small"
	case "maximum", "exclusiveMaximum":
		return "it is too large"
	case "enum", "const":
		return "it is none of the values that are taken"
	}
	if strings.IndexFunc(keyword, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) >= 0 {
		keyword = "schema"
	}
	return "it does not match the tool's schema (" + keyword + ")"
}

// instance turns a pointer into a schema into the pointer of the value it
// speaks of, as far as that is one value: an array's items are not told
// apart.
func instance(schema string) jsontext.Pointer {
	var p jsontext.Pointer
	parts := strings.Split(strings.TrimPrefix(schema, "/"), "/")
	for i := 0; i+1 < len(parts) && parts[i] == "properties"; i += 2 {
		p += jsontext.Pointer("/" + parts[i+1])
	}
	return p
}

// offsetOf is where the value at pointer begins; 0 where it is not there.
func offsetOf(raw []byte, pointer jsontext.Pointer) int64 {
	if pointer == "" {
		return 0
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		if _, err := d.ReadToken(); err != nil {
			return 0
		}
		if d.StackPointer() == pointer {
			d.PeekKind() // moves to the value behind the name
			if v, err := d.ReadValue(); err == nil {
				return d.InputOffset() - int64(len(v))
			}
			return d.InputOffset()
		}
	}
}
