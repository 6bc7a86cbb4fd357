package chain

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/reeve-gate/reeve"
)

// MarshalJSON writes the columns of the table under their own names.
// arguments stands as the JSON it is; what was NULL is null.
func (r Row) MarshalJSON() ([]byte, error) {
	null := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	var args any
	switch {
	case r.Args == "":
	case json.Valid([]byte(r.Args)):
		args = json.RawMessage(r.Args)
	default:
		args = r.Args
	}
	var summary *string
	var duration *int64
	if r.Phase == reeve.PhaseOutcome {
		ms := r.Duration.Milliseconds()
		summary, duration = &r.Summary, &ms
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		ID        int64   `json:"id"`
		CallID    string  `json:"call_id"`
		Phase     string  `json:"phase"`
		Timestamp string  `json:"timestamp"`
		Session   string  `json:"session_id"`
		Tool      string  `json:"tool_name"`
		Source    string  `json:"tool_source"`
		Tier      string  `json:"risk_tier"`
		Args      any     `json:"arguments"`
		Status    *string `json:"result_status"`
		Summary   *string `json:"result_summary"`
		Confirmed bool    `json:"user_confirmed"`
		Duration  *int64  `json:"duration_ms"`
		Channel   string  `json:"input_channel"`
		Actor     string  `json:"actor"`
		Origin    string  `json:"origin"`
		Mode      string  `json:"mode"`
		Decision  string  `json:"decision"`
		Step      string  `json:"step"`
		Rule      *string `json:"rule"`
		RuleAt    *string `json:"rule_at"`
		Approval  *string `json:"approval_id"`
		Dangerous bool    `json:"dangerous_mode"`
		Sandbox   string  `json:"sandbox"`
		Contained bool    `json:"contained"`
		Parent    *string `json:"parent_id"`
		Prev      string  `json:"prev_hash"`
		Hash      string  `json:"hash"`
	}{
		r.ID, r.CallID, string(r.Phase), r.Time.UTC().Format(TimeLayout), r.Session, r.Tool, r.Source, r.Tier.String(), args,
		null(string(r.Status)), summary, r.Confirmed, duration, string(r.Channel), string(r.Actor), r.Origin.String(),
		r.Mode.String(), r.Decision.String(), string(r.Step), null(r.Rule), null(r.RuleAt), null(r.Approval),
		r.Dangerous, r.Sandbox.String(), r.Contained, null(r.Parent), r.Prev.String(), r.Hash.String(),
	})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Fields are the columns as text, for CSV.
func (r Row) Fields() []string {
	duration := ""
	if r.Phase == reeve.PhaseOutcome {
		duration = strconv.FormatInt(r.Duration.Milliseconds(), 10)
	}
	return []string{
		strconv.FormatInt(r.ID, 10), r.CallID, string(r.Phase), r.Time.UTC().Format(TimeLayout), r.Session, r.Tool, r.Source,
		r.Tier.String(), r.Args, string(r.Status), r.Summary, strconv.FormatBool(r.Confirmed), duration, string(r.Channel),
		string(r.Actor), r.Origin.String(), r.Mode.String(), r.Decision.String(), string(r.Step), r.Rule, r.RuleAt, r.Approval,
		strconv.FormatBool(r.Dangerous), r.Sandbox.String(), strconv.FormatBool(r.Contained), r.Parent, r.Prev.String(), r.Hash.String(),
	}
}
