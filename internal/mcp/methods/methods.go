// Package methods is the table of what may pass between MCP clients and
// servers: every method of both versions that are spoken (2025-11-25,
// 2026-07-28), with what becomes of it (contract Y119: each by decision). What
// does not stand in the table does not pass.
package methods

import "slices"

// Eras are the versions of the protocol in which a method exists.
type Eras uint8

const (
	Legacy Eras = 1 << iota
	Modern
	Both = Legacy | Modern
)

// Rule is what becomes of one method (contract Y119: each by decision).
type Rule struct {
	Eras Eras
	How  string // for people: passed on, answered here, or refused, and why
	Bar  bool   // refused
}

// Requests are those that a client may make. One that is refused stands here
// with its reason; one that does not stand here is unknown.
var Requests = map[string]Rule{
	"initialize":               {Legacy, "answered here: no server is started by it", false},
	"server/discover":          {Both, "answered here: no server is started by it", false},
	"ping":                     {Legacy, "answered here", false},
	"logging/setLevel":         {Legacy, "kept here, and passed to running servers of that era; more is not sent to the client", false},
	"tools/list":               {Both, "answered from what servers offered, without what is held back or hidden", false},
	"prompts/list":             {Both, "as tools/list", false},
	"resources/list":           {Both, "as tools/list", false},
	"resources/templates/list": {Both, "as tools/list", false},
	"tools/call":               {Both, "through the kernel to the server", false},
	"prompts/get":              {Both, "through the kernel to the server", false},
	"resources/read":           {Both, "through the kernel to the server that offers it", false},
	"completion/complete":      {Both, "through the kernel to the server", false},
	"resources/subscribe":      {Legacy, "passed to the server that offers it", false},
	"resources/unsubscribe":    {Legacy, "passed to the server that offers it", false},
	"subscriptions/listen":     {Modern, "answered here, for all servers together", false},
	"tasks/get":                {Legacy, "refused: a call that outlives its answer would outlive its record; no task is ever begun", true},
	"tasks/result":             {Legacy, "refused, as tasks/get", true},
	"tasks/list":               {Legacy, "refused, as tasks/get", true},
	"tasks/cancel":             {Legacy, "refused, as tasks/get", true},
}

// Notices are the notifications that a client may send.
var Notices = map[string]Rule{
	"notifications/initialized":        {Eras: Legacy, How: "taken: nothing waits for it"},
	"notifications/cancelled":          {Eras: Both, How: "ends the call here and at its server"},
	"notifications/progress":           {Eras: Legacy, How: "dropped: what a server asks for carries no token"},
	"notifications/roots/list_changed": {Eras: Legacy, How: "dropped: roots are asked for when a server needs them"},
	"notifications/tasks/status":       {Eras: Legacy, How: "dropped: there are no tasks"},
}

// Asks are what a server may ask back for, within a call.
var Asks = map[string]Rule{
	"ping":                   {Eras: Legacy, How: "answered here, by the connection"},
	"roots/list":             {Eras: Both, How: "answered here with what was granted, or by the client where x-guard.asks.roots says so"},
	"sampling/createMessage": {Eras: Both, How: "by the client where x-guard.asks.sampling says so; off otherwise"},
	"elicitation/create":     {Eras: Both, How: "by the client, with the server's name before the text, unless x-guard.asks.elicitation says none"},
	"tasks/get":              {Eras: Legacy, How: "refused: the client begins no task for a server"},
	"tasks/result":           {Eras: Legacy, How: "refused, as tasks/get"},
	"tasks/list":             {Eras: Legacy, How: "refused, as tasks/get"},
	"tasks/cancel":           {Eras: Legacy, How: "refused, as tasks/get"},
}

// Told is what a server may tell.
var Told = map[string]Rule{
	"notifications/progress":                   {Eras: Both, How: "to the call that it belongs to, under the client's own token"},
	"notifications/message":                    {Eras: Both, How: "to the client, from the level that it wants, with the server's name"},
	"notifications/cancelled":                  {Eras: Both, How: "withdraws what the server asked, or ends a subscription"},
	"notifications/tools/list_changed":         {Eras: Both, How: "the list is fetched, compared and judged first; then the client is told, once"},
	"notifications/prompts/list_changed":       {Eras: Both, How: "as that of tools"},
	"notifications/resources/list_changed":     {Eras: Both, How: "as that of tools"},
	"notifications/resources/updated":          {Eras: Both, How: "to the clients that watch the resource"},
	"notifications/subscriptions/acknowledged": {Eras: Modern, How: "kept here: the subscription is the gateway's"},
	"notifications/elicitation/complete":       {Eras: Legacy, How: "dropped: the client learns it from its own page"},
	"notifications/tasks/status":               {Eras: Legacy, How: "dropped: there are no tasks"},
}

// Levels of log messages, the least grave first (RFC 5424).
var Levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// Level is the place of a level among them, -1 for none.
func Level(name string) int { return slices.Index(Levels, name) }
