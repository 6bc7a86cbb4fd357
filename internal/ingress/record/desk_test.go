package record

import (
	"testing"
	"time"
)

func TestMomentsAreRead(t *testing.T) {
	now := time.Date(2026, 8, 5, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "90m": now.Add(-90 * time.Minute), "7d": now.AddDate(0, 0, -7), "2026-08-01T00:00:00Z": time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC),
		"2026-08-01": time.Date(2026, 8, 1, 0, 0, 0, 0, time.Local),
	} {
		if got, err := when(text, now); err != nil || !got.Equal(want) {
			t.Errorf("when(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"-1h", "soon", "-3d", "2026-13-01", "1x"} {
		if got, err := when(text, now); err == nil {
			t.Errorf("when(%q) = %v, want an error", text, got)
		}
	}
}
