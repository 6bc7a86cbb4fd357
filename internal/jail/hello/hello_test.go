package hello

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"testing"
)

func TestAClientHelloShowsItsServerName(t *testing.T) {
	raw := clientHello(t, &tls.Config{ServerName: "a.example", NextProtos: []string{"h2"}})
	split := func(at int) []byte { // over two records
		body := raw[5:]
		var out []byte
		for _, part := range [][]byte{body[:at], body[at:]} {
			out = append(out, 22, 3, 1)
			out = binary.BigEndian.AppendUint16(out, uint16(len(part)))
			out = append(out, part...)
		}
		return out
	}
	long := clientHello(t, &tls.Config{ServerName: "a.example", MaxVersion: tls.VersionTLS10, MinVersion: tls.VersionTLS10})
	none := clientHello(t, &tls.Config{ServerName: "127.0.0.1"})
	for _, c := range []struct {
		name string
		raw  []byte
		want Hello
		bad  bool
	}{
		{"TLS 1.3", raw, Hello{Name: "a.example"}, false},
		{"TLS 1.0", long, Hello{Name: "a.example"}, false},
		{"an address", none, Hello{}, false},
		{"two records", split(7), Hello{Name: "a.example"}, false},
		{"a record of one byte", split(1), Hello{Name: "a.example"}, false},
		{"ECH", withExtension(raw, extECH, []byte{0, 1, 2}), Hello{Name: "a.example", ECH: true}, false},
		{"the draft of ECH", withExtension(raw, extESNI, nil), Hello{Name: "a.example", ECH: true}, false},
		{"two names", withExtension(raw, extServerName, []byte("\x00\x0c\x00\x00\x09b.example")), Hello{}, true},
		{"no handshake", append([]byte{23}, raw[1:]...), Hello{}, true},
		{"SSL 2", []byte{0x80, 0x2e, 1, 3, 1, 0, 0x15, 0, 0, 0, 0x10}, Hello{}, true},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), Hello{}, true},
		{"a server's", append(append([]byte{}, raw[:5]...), append([]byte{2}, raw[6:]...)...), Hello{}, true},
		{"an empty record", append([]byte{22, 3, 1, 0, 0}, raw...), Hello{}, true},
		{"too long", []byte{22, 3, 1, 0, 4, 1, 2, 0, 0}, Hello{}, true},
		{"cut off", raw[:len(raw)-1], Hello{}, true},
	} {
		rest := []byte("what follows")
		in := bytes.NewReader(append(append([]byte{}, c.raw...), rest...))
		if c.name == "cut off" || c.name == "too long" {
			in = bytes.NewReader(c.raw)
		}
		got, h, err := Read(in)
		if (err != nil) != c.bad || !c.bad && h != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, h, err, c.want)
		}
		if after, _ := io.ReadAll(in); !c.bad && (!bytes.Equal(got, c.raw) || !bytes.Equal(after, rest)) {
			t.Errorf("%s: %d bytes were read, %d are the message", c.name, len(got), len(c.raw))
		}
	}
}

// withExtension adds one to a ClientHello in one record.
func withExtension(raw []byte, kind uint16, body []byte) []byte {
	out := append([]byte{}, raw...)
	at := 9 + 34 // of the session id
	at += 1 + int(out[at])
	at += 2 + int(binary.BigEndian.Uint16(out[at:]))
	at += 1 + int(out[at]) // of the length of the extensions
	ext := binary.BigEndian.AppendUint16(nil, kind)
	ext = append(binary.BigEndian.AppendUint16(ext, uint16(len(body))), body...)
	out = append(out, ext...)
	add := func(i int) {
		binary.BigEndian.PutUint16(out[i:], binary.BigEndian.Uint16(out[i:])+uint16(len(ext)))
	}
	add(at)
	add(3)
	add(7) // the low two bytes of the message's length
	return out
}

func FuzzHello(f *testing.F) {
	raw := clientHello(f, &tls.Config{ServerName: "a.example"})
	f.Add(raw)
	f.Add(withExtension(raw, extECH, []byte{1}))
	f.Add([]byte("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		got, h, err := Read(r)
		if len(got) > Max+5 || !bytes.HasPrefix(in, got) {
			t.Errorf("%d bytes were read of %d", len(got), len(in))
		}
		if err == nil && h.Name != "" && !bytes.Contains(in, []byte(h.Name)) && !split(got) {
			t.Errorf("the name %q is not in the message", h.Name)
		}
		if len(got)+r.Len() != len(in) {
			t.Errorf("%d bytes are lost", len(in)-len(got)-r.Len())
		}
	})
}

// split reports whether a message spans records, between which headers stand.
func split(raw []byte) bool { return int(binary.BigEndian.Uint16(raw[3:]))+5 < len(raw) }

// clientHello is the first message of Go's own TLS for a server name, raw.
func clientHello(t testing.TB, conf *tls.Config) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer b.Close()
	go func() {
		conf.InsecureSkipVerify = true
		tls.Client(a, conf).Handshake()
		a.Close()
	}()
	raw, _, err := Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
