package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Log is a mixed log of an agent's day of about size bytes: requests, records
// in JSON, program text, hashes and prose, full of the words of secrets, with
// a line of the corpus that has a secret in every fifty kibibytes.
func Log(rng *rand.Rand, size int) string {
	var secrets []string
	for _, line := range Lines(rng) {
		if line.Secret != "" {
			secrets = append(secrets, line.Text)
		}
	}
	hex := func(n int) string { return pick(rng, "0123456789abcdef", n) }
	kinds := []func(n int) string{
		func(n int) string {
			return fmt.Sprintf("2026-11-30T10:%02d:%02d.123Z INFO auth service token refreshed for key user=alice session=%s secret rotation ok", n/60%60, n%60, uuid(rng))
		},
		func(n int) string {
			return fmt.Sprintf(`{"level":"info","ts":17000%05d.123,"caller":"server/http.go:%d","msg":"request","method":"GET","path":"/api/v1/items?id=%d&sort=name","status":200,"duration_ms":12.5,"max_tokens":4096}`, n, n%900, n)
		},
		func(n int) string {
			return fmt.Sprintf(`10.0.%d.%d - - [30/Nov/2026:10:00:00 +0000] "GET /static/app.%s.js HTTP/1.1" 200 %d "https://example.com/" "Mozilla/5.0 (X11; Linux x86_64)"`, n%200, n%250, hex(8), n)
		},
		func(n int) string {
			return "	if err := s.auth.Check(ctx, token); err != nil { return fmt.Errorf(\"check token: %w\", err) }"
		},
		func(n int) string { return "sha256:" + hex(64) + "  build/out/package-" + hex(6) + ".tar.gz" },
		func(n int) string {
			return fmt.Sprintf("ok  	example.com/project/internal/auth%d	0.0%dms	coverage: 81.2%% of statements", n%70, n%90)
		},
		func(n int) string {
			return "The key to the cache is the hash of its inputs; a password or a token never goes into it, since the access log would show the secret to everyone."
		},
		func(n int) string {
			return fmt.Sprintf(`{"type":"tool_result","tool_use_id":"call_%d","content":"internal/auth/token.go:%d:15: undefined: credential","is_error":true}`, n, n%800)
		},
		func(n int) string { return "commit " + hex(40) + "\nAuthor: A <a@example.com>" },
		func(n int) string { return "" },
	}
	var b strings.Builder
	planted := 0
	for n := 0; b.Len() < size; n++ {
		b.WriteString(kinds[rng.IntN(len(kinds))](n))
		b.WriteByte('\n')
		if b.Len()/(50<<10) > planted {
			planted++
			b.WriteString(secrets[rng.IntN(len(secrets))])
			b.WriteByte('\n')
		}
	}
	return b.String()
}
