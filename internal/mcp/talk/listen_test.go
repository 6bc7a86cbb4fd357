package talk

import (
	"testing"
	"testing/synctest"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// TestASubscriptionUnderAnIDThatWasUsedBeforeIsTold: the end of the one before
// takes nothing from it, however close they follow on each other.
func TestASubscriptionUnderAnIDThatWasUsedBeforeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Open(Options{Version: "1", Named: func(string) {}, Level: func(string) {}, Watch: func([]string) error { return nil }}, func(message.Message) {})
		decode := func(line string) message.Message {
			m, err := message.Decode([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		listen := decode(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		cancel := decode(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		told := make(chan string, 10)
		begin := func() <-chan struct{} {
			over := make(chan struct{})
			go func() {
				c.Handle(t.Context(), listen, func(m message.Message) { told <- m.Method })
				close(over)
			}()
			return over
		}
		over := begin()
		for i := range 5000 {
			<-told // it is acknowledged
			c.Handle(t.Context(), cancel, nil)
			<-over
			over = begin()
			synctest.Wait()
			c.Changed("tools")
			synctest.Wait()
			if len(told) != 2 {
				t.Fatalf("after %d others, a subscription has %d messages, want that it stands and that the tools changed", i+1, len(told))
			}
			ack := <-told
			<-told
			told <- ack
		}
		c.Close()
		<-over
	})
}
