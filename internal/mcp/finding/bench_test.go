package finding

import "testing"

// BenchmarkDefinition is one definition of a real server on average.
func BenchmarkDefinition(b *testing.B) {
	all := harmless(b)
	i := 0
	for b.Loop() {
		Definition(all[i%len(all)].Definition)
		i++
	}
}
