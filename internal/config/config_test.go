package config

import (
	"strings"
	"testing"
)

func TestSizesAndProcessors(t *testing.T) {
	for in, want := range map[string]int64{"": 0, "1": 1, "16777216": 16 << 20, "16MiB": 16 << 20, "4GiB": 4 << 30, "4 GiB": 4 << 30, "1TiB": 1 << 40, "2KiB": 2048} {
		if got, err := Size(in); err != nil || got != want {
			t.Errorf("size %q is %d (%v), want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"0", "-1", "4GB", "4G", "four", "1.5GiB", "9223372036854775807GiB", "GiB", "4GiBGiB", "0x10", "1e3"} {
		if got, err := Size(in); err == nil || !strings.Contains(err.Error(), "4GiB") {
			t.Errorf("size %q is read as %d (%v)", in, got, err)
		}
	}
	for in, want := range map[string]int64{"": 0, "1": 1000, "1.5": 1500, "0.01": 10} {
		if got, err := Processors(in); err != nil || got != want {
			t.Errorf("processors %q is %d (%v), want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"0", "-1", "NaN", "Inf", "5000", "two"} {
		if got, err := Processors(in); err == nil {
			t.Errorf("processors %q is read as %d", in, got)
		}
	}
}

func TestABoundBelowWhichNothingStartsIsRefused(t *testing.T) {
	for src, want := range map[string]string{
		"[sandbox]\nmemory = \"1MiB\"\n":     "16MiB",
		"[sandbox]\nmemory = \"much\"\n":     "sandbox.memory",
		"[sandbox]\nprocesses = 2\n":         "sandbox.processes",
		"[sandbox]\nprocesses = -5\n":        "sandbox.processes",
		"[sandbox]\nprocessors = \"none\"\n": "sandbox.processors",
	} {
		if _, err := Parse("config.toml", []byte(src)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "config.toml") {
			t.Errorf("%q: %v, want an error with %q", src, err, want)
		}
	}
	if _, err := Parse("config.toml", []byte("[sandbox]\nmemory = \"4GiB\"\nprocesses = 512\nprocessors = \"1.5\"\n")); err != nil {
		t.Error(err)
	}
}

func TestPersonalDataIsMaskedOnMessagingUnlessSaidOtherwise(t *testing.T) {
	for src, want := range map[string]string{
		"":                                       "messaging messaging:telegram messaging:slack",
		"[redact.personal]\nmessaging = false\n": "",
		"[redact.personal]\n\"messaging:slack\" = false\nexport = true\n":    "messaging messaging:telegram export",
		"[redact.personal]\nmessaging = false\n\"messaging:slack\" = true\n": "messaging:slack",
	} {
		c, err := Parse("config.toml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		var on []string
		for _, channel := range []string{"messaging", "messaging:telegram", "messaging:slack", "export", "cli"} {
			if c.Outward(channel) {
				on = append(on, channel)
			}
		}
		if got := strings.Join(on, " "); got != want {
			t.Errorf("%q masks on %q, want %q", src, got, want)
		}
	}
}
