package export

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// What an event of OCSF is, by the schema of version 1.8.0 (github.com/ocsf):
// class API Activity of the category Application Activity, with the profile
// Security Control for the verdict.
const (
	ocsfVersion  = "1.8.0"
	ocsfCategory = 6
	ocsfClass    = 6003
)

type ocsfNamed struct {
	Name    string `json:"name,omitempty"`
	UID     string `json:"uid,omitempty"`
	Version string `json:"version,omitempty"`
}

type ocsfProduct struct {
	Name    string `json:"name"`
	Vendor  string `json:"vendor_name"`
	Version string `json:"version,omitempty"`
}

type ocsfMetadata struct {
	Version      string      `json:"version"`
	Product      ocsfProduct `json:"product"`
	Profiles     []string    `json:"profiles"`
	UID          string      `json:"uid"`
	Correlation  string      `json:"correlation_uid"`
	Sequence     int64       `json:"sequence"`
	LogName      string      `json:"log_name"`
	OriginalTime string      `json:"original_time"`
}

type ocsfSession struct {
	UID string `json:"uid"`
}

type ocsfActor struct {
	App     string      `json:"app_name"`
	Session ocsfSession `json:"session"`
}

type ocsfRequest struct {
	UID  string `json:"uid"`
	Data any    `json:"data,omitempty"`
}

type ocsfResponse struct {
	Error   string `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
}

type ocsfAPI struct {
	Operation string        `json:"operation"`
	Group     string        `json:"group"`
	Service   *ocsfNamed    `json:"service,omitempty"`
	Request   ocsfRequest   `json:"request"`
	Response  *ocsfResponse `json:"response,omitempty"`
}

type ocsfEndpoint struct {
	Name     string `json:"name"`
	Hostname string `json:"hostname,omitempty"`
}

type ocsfPolicy struct {
	Name    string `json:"name"`
	UID     string `json:"uid,omitempty"`
	Applied bool   `json:"is_applied"`
}

// ocsfRest is what the schema has no attribute for, under the names of our
// columns.
type ocsfRest struct {
	Phase     string  `json:"phase"`
	Tier      string  `json:"risk_tier"`
	Origin    string  `json:"origin"`
	Mode      string  `json:"mode"`
	Step      string  `json:"step"`
	Approval  *string `json:"approval_id"`
	Confirmed bool    `json:"user_confirmed"`
	Dangerous bool    `json:"dangerous_mode"`
	Sandbox   string  `json:"sandbox"`
	Contained bool    `json:"contained"`
	Parent    *string `json:"parent_id"`
	Duration  *int64  `json:"duration_ms"`
	Prev      string  `json:"prev_hash"`
	Hash      string  `json:"hash"`
}

type ocsfEvent struct {
	ActivityID    int          `json:"activity_id"`
	ActivityName  string       `json:"activity_name"`
	CategoryUID   int          `json:"category_uid"`
	CategoryName  string       `json:"category_name"`
	ClassUID      int          `json:"class_uid"`
	ClassName     string       `json:"class_name"`
	TypeUID       int          `json:"type_uid"`
	SeverityID    int          `json:"severity_id"`
	Severity      string       `json:"severity"`
	Time          int64        `json:"time"`
	Message       string       `json:"message"`
	StatusID      int          `json:"status_id"`
	Status        string       `json:"status"`
	StatusCode    string       `json:"status_code,omitempty"`
	StatusDetail  string       `json:"status_detail,omitempty"`
	ActionID      int          `json:"action_id"`
	Action        string       `json:"action"`
	DispositionID int          `json:"disposition_id"`
	Disposition   string       `json:"disposition"`
	Policy        *ocsfPolicy  `json:"policy,omitempty"`
	Metadata      ocsfMetadata `json:"metadata"`
	Actor         ocsfActor    `json:"actor"`
	API           ocsfAPI      `json:"api"`
	Source        ocsfEndpoint `json:"src_endpoint"`
	Unmapped      ocsfRest     `json:"unmapped"`
}

// event is one call as OCSF has it.
func event(row chain.Row, build, host string) ([]byte, error) {
	e := ocsfEvent{
		CategoryUID: ocsfCategory, CategoryName: "Application Activity", ClassUID: ocsfClass, ClassName: "API Activity",
		Time: row.Time.UnixMilli(), Message: row.Tool + ": " + row.Decision.String() + ", " + string(row.Status),
		StatusCode: string(row.Status), StatusDetail: row.Summary,
		Metadata: ocsfMetadata{
			Version: ocsfVersion, Product: ocsfProduct{"Reeve", "Reeve", build}, Profiles: []string{"security_control"},
			UID: row.CallID, Correlation: row.Session, Sequence: row.ID, LogName: "tool_executions",
			OriginalTime: row.Time.UTC().Format(time.RFC3339Nano),
		},
		Actor:  ocsfActor{string(row.Actor), ocsfSession{row.Session}},
		API:    ocsfAPI{Operation: row.Tool, Group: row.Tier.String(), Request: ocsfRequest{UID: row.CallID}},
		Source: ocsfEndpoint{string(row.Channel), host},
	}
	e.ActivityID, e.ActivityName = ocsfActivity(row.Tier)
	e.TypeUID = ocsfClass*100 + e.ActivityID
	e.SeverityID, e.Severity = ocsfSeverity(row)
	e.StatusID, e.Status = ocsfStatus(row.Status)
	e.ActionID, e.Action, e.DispositionID, e.Disposition = ocsfVerdict(row)
	if row.Rule != "" {
		e.Policy = &ocsfPolicy{row.Rule, row.RuleAt, true}
	}
	if row.Source != "" {
		e.API.Service = &ocsfNamed{Name: row.Source}
	}
	switch {
	case row.Args == "":
	case json.Valid([]byte(row.Args)):
		e.API.Request.Data = json.RawMessage(row.Args)
	default:
		e.API.Request.Data = row.Args
	}
	if row.Phase == reeve.PhaseOutcome {
		e.API.Response = &ocsfResponse{Message: row.Summary}
		if e.StatusID == 2 {
			e.API.Response.Error = string(row.Status)
		}
	}
	e.Unmapped = ocsfRest{
		Phase: string(row.Phase), Tier: row.Tier.String(), Origin: row.Origin.String(), Mode: row.Mode.String(), Step: string(row.Step),
		Approval: orNull(row.Approval), Confirmed: row.Confirmed, Dangerous: row.Dangerous, Sandbox: row.Sandbox.String(),
		Contained: row.Contained, Parent: orNull(row.Parent), Prev: row.Prev.String(), Hash: row.Hash.String(),
	}
	if row.Phase == reeve.PhaseOutcome {
		ms := row.Duration.Milliseconds()
		e.Unmapped.Duration = &ms
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ocsfActivity: what a tool of a tier does, as near as create, read, update and
// delete come to it. A destructive one may do any of them.
func ocsfActivity(t reeve.Tier) (int, string) {
	switch t {
	case reeve.TierRead:
		return 2, "Read"
	case reeve.TierWrite:
		return 3, "Update"
	}
	return 99, t.String()
}

// ocsfSeverity is of what was done and not of what was asked: an act that was
// refused harmed nothing.
func ocsfSeverity(row chain.Row) (int, string) {
	switch {
	case row.Dangerous:
		return 4, "High"
	case row.Status == reeve.StatusDenied:
		return 2, "Low"
	case row.Tier == reeve.TierDestructive:
		return 3, "Medium"
	}
	return 1, "Informational"
}

func ocsfStatus(s reeve.Status) (int, string) {
	switch s {
	case reeve.StatusSuccess:
		return 1, "Success"
	case reeve.StatusError, reeve.StatusDenied, reeve.StatusTimeout:
		return 2, "Failure"
	}
	return 0, "Unknown"
}

// ocsfVerdict is what was decided, and by whom: Approved and Rejected are a
// person's word.
func ocsfVerdict(row chain.Row) (action int, name string, disposition int, how string) {
	asked := row.Approval != ""
	switch {
	case row.Decision == reeve.Allow && asked && row.Confirmed:
		return 1, "Allowed", 8, "Approved"
	case row.Decision == reeve.Allow:
		return 1, "Allowed", 1, "Allowed"
	case asked:
		return 2, "Denied", 25, "Rejected"
	}
	return 2, "Denied", 2, "Blocked"
}
