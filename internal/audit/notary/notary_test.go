package notary

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/vault"
)

// TestCheckpointsVerifyWithPublicToolsAlone opens the file of checkpoints as
// anybody would who has golang.org/x/mod/sumdb/note and the key.
func TestCheckpointsVerifyWithPublicToolsAlone(t *testing.T) {
	h := written(t)
	f := h.log.Files()
	v, err := note.NewVerifier(strings.TrimSpace(mustRead(t, f.Key)))
	if err != nil {
		t.Fatal(err)
	}
	text := mustRead(t, f.Book)
	for _, size := range []string{"10", "20", "30", "40"} {
		i := strings.Index(text, "\n\n— ")
		end := i + 2 + strings.Index(text[i+2:], "\n\n") + 1
		n, err := note.Open([]byte(text[:end]), note.VerifierList(v))
		if err != nil || !strings.HasPrefix(n.Text, v.Name()+"\n"+size+"\n") || len(n.Sigs) != 1 {
			t.Fatalf("checkpoint of %s rows: %+v, %v", size, n, err)
		}
		text = text[end+1:]
	}
	if text != "" {
		t.Errorf("something stands behind the last: %q", text)
	}
}

// TestALockedVaultLeavesRowsUnsignedAndSaysSo: nothing waits for it, and
// the checkpoint after it has all of them.
func TestALockedVaultLeavesRowsUnsignedAndSaysSo(t *testing.T) {
	h := newHouse(t)
	for why, want := range map[error]string{vault.ErrNone: "reeve vault init", vault.ErrLocked: "reeve vault unlock"} {
		h.safe.lock(why)
		h.call()
		if _, err := h.n.Checkpoint(t.Context()); !errors.Is(err, why) {
			t.Fatalf("checkpoint: %v, want %v", err, why)
		}
		if signed, _ := h.n.Lines(); !strings.Contains(signed, want) || !strings.HasPrefix(signed, "no: ") {
			t.Errorf("status says %q, want what to do: %s", signed, want)
		}
		if rep := verify(t, h.dir, audit.Known{}); rep.Broken != nil || rep.Sealed.Newest != "" {
			t.Errorf("verify: %v, %+v; want good and not signed", rep.Broken, rep.Sealed)
		}
	}
	h.safe.lock(nil)
	h.sign()
	if rep := h.good(); rep.Sealed.Rows != 4 || rep.Sealed.By != audit.KeyVault {
		t.Errorf("opened: %+v, want every row signed", rep.Sealed)
	}
	h.safe.lock(vault.ErrLocked)
	h.call()
	if _, err := h.n.Checkpoint(t.Context()); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("locked again: %v; the key must not be remembered", err)
	}
	if signed, _ := h.n.Lines(); !strings.HasPrefix(signed, "up to row 4 of 6 and no further") {
		t.Errorf("status says %q", signed)
	}
	h.safe.lock(nil)
	h.again()
	h.sign()
	if rep := h.good(); rep.Sealed.Rows != 6 || rep.Sealed.Count != 2 {
		t.Errorf("after another start: %+v", rep.Sealed)
	}
}

// TestTheDaemonMakesCheckpointsByItself: for every thousand rows, when the vault
// is opened, and at the end.
func TestTheDaemonMakesCheckpointsByItself(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h.n.Start(ctx)
	signed := func(rows int64) bool { return h.n.State().Rows == rows }
	wait := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v", what, h.n.State())
			}
		}
	}
	wait("a look at the record", func() bool { h.n.mu.Lock(); defer h.n.mu.Unlock(); return h.n.known })
	for range everyRows / 2 {
		h.call()
	}
	wait("a thousand rows", func() bool { return h.n.State().Rows >= everyRows })
	h.call()
	h.n.Wake()
	wait("an opened vault", func() bool { return signed(everyRows + 2) })
	h.call()
	cancel()
	h.n.Wait()
	if err := h.log.Close(); err != nil {
		t.Fatal(err)
	}
	h.n.Close(context.Background())
	if rep := h.good(); rep.Sealed.Rows != everyRows+4 {
		t.Errorf("after the end: %+v, want every row signed", rep.Sealed)
	}
}

// TestAKeyThatIsNewSignsAnewAndARowTellsOfIt: the vault was lost and made again.
func TestAKeyThatIsNewSignsAnewAndARowTellsOfIt(t *testing.T) {
	h := written(t)
	was := h.n.State().Key
	h.close()
	if err := os.RemoveAll(h.safe.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(h.safe.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h.open()
	h.sign()
	rep := h.good()
	if h.n.State().Key == was || rep.Sealed.Count != 1 || !strings.Contains(rep.Head.Summary, "of a key that the vault does not have") {
		t.Errorf("a new key: %+v, newest row %q", rep.Sealed, rep.Head.Summary)
	}
	i := strings.Index(rep.Head.Summary, "kept as ")
	if i < 0 {
		t.Fatalf("where the old ones are: %q", rep.Head.Summary)
	}
	if former := read(t, rep.Head.Summary[i+len("kept as "):]); len(former.Notes) != 4 {
		t.Errorf("of the old ones %d are kept", len(former.Notes))
	}
}

// TestAResealedRecordIsSignedWhenAPersonAcceptsIt: until then verify finds it
// replaced; what the vault remembers of the one before is not forgotten.
func TestAResealedRecordIsSignedWhenAPersonAcceptsIt(t *testing.T) {
	h := written(t)
	was := h.n.State().Key
	if _, err := h.n.Accept(t.Context()); err == nil {
		t.Error("a record that is the remembered one was accepted")
	}
	h.close()
	sql(t, h.dir, "UPDATE tool_executions SET rule = 'x' WHERE id = 7;")
	if _, err := audit.Reseal(t.Context(), h.dir, true, audit.Known{Memory: h.memory()}, func() time.Time { return h.now }); err != nil {
		t.Fatal(err)
	}
	h.open()
	if _, err := h.n.Checkpoint(t.Context()); !errors.Is(err, ErrAnew) {
		t.Fatalf("before a person accepts: %v, want %v", err, ErrAnew)
	}
	h.call()
	if rep := h.verify(); rep.Broken == nil || rep.Broken.Kind != chain.KindReplaced || !rep.Anew {
		t.Errorf("before a person accepts: %v, want %s", rep.Broken, chain.KindReplaced)
	}
	if _, err := h.n.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	rep := h.good()
	if rep.Sealed.Rows != 3 || len(rep.Sealed.Former) != 1 || rep.Sealed.Former[0].Size != 40 {
		t.Errorf("accepted: %+v, want three signed rows and one former record of forty", rep.Sealed)
	}
	if h.n.State().Key == was {
		t.Error("it has the key of the one before: to a witness that would be a fork")
	}
}

// TestChangedRowsAreNotSigned: somebody changes the file below a daemon.
func TestChangedRowsAreNotSigned(t *testing.T) {
	h := newHouse(t)
	h.call()
	h.sign()
	h.call()
	sql(t, h.dir, "DELETE FROM tool_executions WHERE id = 4")
	before := h.memory().Size
	if _, err := h.n.Checkpoint(t.Context()); err == nil {
		t.Error("a record without its newest row was signed")
	}
	if err := h.log.Broken(); err == nil {
		t.Error("the log goes on")
	}
	if now := h.memory().Size; now != before {
		t.Errorf("the vault remembers %d rows, before %d", now, before)
	}
}

// BenchmarkLook is what a start of the daemon costs beside the check of the chain.
func BenchmarkLook(b *testing.B) {
	h := newHouse(b)
	const rows = 20_000
	fill(b, h, rows)
	h.sign()
	for b.Loop() {
		h.n.mu.Lock()
		h.n.forget()
		err := h.n.look(b.Context())
		h.n.mu.Unlock()
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// fill writes rows from many callers, and a checkpoint for each thousand.
func fill(t testing.TB, h *house, rows int) {
	t.Helper()
	const callers = 64
	done := make(chan error, callers)
	for w := range callers {
		go func() {
			for n := w; n < rows/2; n += callers {
				for _, r := range rowsOf(n) {
					if err := h.log.Append(t.Context(), r); err != nil {
						done <- err
						return
					}
				}
			}
			done <- nil
		}()
	}
	for range callers {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkAppend is what signing costs those who write, 64 at once: the same
// record with a notary and without one, taking turns, as medians.
func BenchmarkAppend(b *testing.B) {
	const rows = 20_000
	rate := func(signed bool) float64 {
		h := newHouse(b)
		ctx, cancel := context.WithCancel(b.Context())
		if signed {
			h.call()
			h.sign()
			h.n.Start(ctx)
		}
		begin := time.Now()
		fill(b, h, rows)
		took := time.Since(begin)
		cancel()
		if signed {
			h.n.Wait()
			if n := len(h.n.book.Notes); n < 3 {
				b.Errorf("%d checkpoints were made", n)
			}
		}
		h.close()
		return rows / took.Seconds()
	}
	var plain, signed, ratio []float64
	for b.Loop() {
		p, s := rate(false), rate(true)
		plain, signed, ratio = append(plain, p), append(signed, s), append(ratio, 100*s/p)
	}
	for unit, all := range map[string][]float64{"plain-rows/s": plain, "rows/s": signed, "%-of-plain": ratio} {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], unit)
	}
}

// BenchmarkVerify checks 50,000 rows that are not signed, that have a checkpoint
// for each thousand, and one for each twenty, as a minute of one agent has.
func BenchmarkVerify(b *testing.B) {
	const rows = 50_000
	for name, every := range map[string]int{"not signed": rows, "every 1000 rows": 1000, "every 20 rows": 20} {
		b.Run(name, func(b *testing.B) {
			h := newHouse(b)
			if every == rows {
				h.safe.lock(vault.ErrNone)
			}
			fill(b, h, rows)
			if every < rows {
				signEach(b, h, every)
			}
			h.safe.lock(nil)
			h.close()
			known := audit.Known{Memory: h.memory()}
			b.ResetTimer()
			for b.Loop() {
				if rep := verify(b, h.dir, known); rep.Broken != nil || every < rows && rep.Sealed.Count != rows/every {
					b.Fatal(rep.Broken, rep.Sealed.Count)
				}
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// signEach writes the checkpoints that a record would have by now.
func signEach(b *testing.B, h *house, every int) {
	b.Helper()
	h.sign()
	f := h.log.Files()
	s, err := h.n.signer(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	text := ""
	for size := int64(every); size <= h.n.rows.Size(); size += int64(every) {
		rows, err := h.n.tree.At(size)
		if err != nil {
			b.Fatal(err)
		}
		signed, _, err := s.Sign(rows)
		if err != nil {
			b.Fatal(err)
		}
		text += signed + "\n"
	}
	if err := os.WriteFile(f.Book, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

// TestWhatTheVaultMissedIsHeldAgainstTheRowsToo: the daemon was killed between
// a checkpoint and the vault's note of it, and the rows were changed then.
func TestWhatTheVaultMissedIsHeldAgainstTheRowsToo(t *testing.T) {
	h := written(t)
	before := *h.memory()
	h.call()
	h.sign()
	h.close()
	b, err := before.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.safe.Keep(t.Context(), keyMemory, b); err != nil {
		t.Fatal(err)
	}
	changed := copied(t, h.dir)
	h.open()
	h.sign()
	if h.good(); h.memory().Size != 42 {
		t.Errorf("the vault remembers %d rows, want 42", h.memory().Size)
	}
	if err := h.safe.Keep(t.Context(), keyMemory, b); err != nil {
		t.Fatal(err)
	}
	sql(t, changed, "UPDATE tool_executions SET arguments = '{}' WHERE id = 42;")
	rechain(t, changed, 42)
	denied(t, h, changed)
}
