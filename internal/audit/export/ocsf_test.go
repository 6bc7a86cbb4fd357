package export

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
)

// What the schema of OCSF 1.8.0 says of the class API Activity and of the objects
// in it, as far as we write them: attribute, a star where it is required, and its
// type. one=A,B names attributes of which at least one is there. Read from
// github.com/ocsf/ocsf-schema: events/base_event, events/application/api_activity,
// profiles/security_control, dictionary and objects.
const ocsfSchema = `
event     activity_id* int, activity_name string, category_uid* int, category_name string, class_uid* int, class_name string
event     type_uid* int, severity_id* int, severity string, time* int, message string, status_id int, status string
event     status_code string, status_detail string, metadata* metadata, actor* actor, api* api, src_endpoint* endpoint, unmapped json
event     action_id int, action string, disposition_id int, disposition string, policy policy
metadata  version* string, product* product, profiles strings, uid string, correlation_uid string, sequence int, log_name string, original_time string
product   name string, vendor_name string, version string, one=name
actor     app_name string, session session, one=app_name
session   uid string
api       operation* string, group string, service service, request request, response response
service   name string, uid string, version string, one=name
request   uid* string, data json
response  error string, message string
endpoint  name string, hostname string, one=name
policy    name string, uid string, is_applied bool, one=name
`

// ocsfEnums are the numbers that an attribute may have, and their captions.
var ocsfEnums = map[string]map[int]string{
	"activity_id":    {0: "Unknown", 1: "Create", 2: "Read", 3: "Update", 4: "Delete", 99: "*"},
	"category_uid":   {6: "Application Activity"},
	"class_uid":      {6003: "API Activity"},
	"severity_id":    {0: "Unknown", 1: "Informational", 2: "Low", 3: "Medium", 4: "High", 5: "Critical", 6: "Fatal", 99: "*"},
	"status_id":      {0: "Unknown", 1: "Success", 2: "Failure", 99: "*"},
	"action_id":      {0: "Unknown", 1: "Allowed", 2: "Denied", 3: "Observed", 4: "Modified", 99: "*"},
	"disposition_id": {0: "Unknown", 1: "Allowed", 2: "Blocked", 8: "Approved", 25: "Rejected", 27: "Error", 99: "*"},
}

var ocsfCaptions = map[string]string{"activity_id": "activity_name", "category_uid": "category_name", "class_uid": "class_name",
	"severity_id": "severity", "status_id": "status", "action_id": "action", "disposition_id": "disposition"}

type ocsfAttribute struct {
	required bool
	kind     string
}

func readOCSF() (objects map[string]map[string]ocsfAttribute, one map[string][]string) {
	objects, one = map[string]map[string]ocsfAttribute{}, map[string][]string{}
	for line := range strings.Lines(ocsfSchema) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		if objects[name] == nil {
			objects[name] = map[string]ocsfAttribute{}
		}
		for part := range strings.SplitSeq(rest, ", ") {
			part = strings.TrimSpace(part)
			if list, ok := strings.CutPrefix(part, "one="); ok {
				one[name] = strings.Split(list, "/")
				continue
			}
			attr, kind, _ := strings.Cut(part, " ")
			attr, required := strings.CutSuffix(attr, "*")
			objects[name][attr] = ocsfAttribute{required, kind}
		}
	}
	return objects, one
}

// faults are what an object has against the schema.
func faults(object string, v map[string]any) []string {
	objects, one := readOCSF()
	var all []string
	say := func(format string, args ...any) { all = append(all, object+": "+fmt.Sprintf(format, args...)) }
	for name, a := range objects[object] {
		if _, have := v[name]; a.required && !have {
			say("%s is missing", name)
		}
	}
	for _, name := range one[object] {
		if v[name] == "" || v[name] == nil {
			say("none of %v is there", one[object])
		}
	}
	for name, got := range v {
		a, known := objects[object][name]
		if !known {
			say("%s is no attribute", name)
			continue
		}
		ok := false
		switch a.kind {
		case "string":
			_, ok = got.(string)
		case "bool":
			_, ok = got.(bool)
		case "int":
			n, is := got.(float64)
			ok = is && n == float64(int64(n))
			if enum := ocsfEnums[name]; ok && enum != nil {
				caption := enum[int(n)]
				if said := v[ocsfCaptions[name]]; caption == "" || caption != "*" && caption != said || said == "" {
					say("%s is %v, said to be %v", name, n, said)
				}
			}
		case "strings":
			_, ok = got.([]any)
		case "json":
			ok = true
		default:
			inner, is := got.(map[string]any)
			if ok = is; is {
				all = append(all, faults(a.kind, inner)...)
			}
		}
		if !ok {
			say("%s is %v, no %s", name, got, a.kind)
		}
	}
	return all
}

func TestEventsAreWhatOCSFSaysOfAPIActivity(t *testing.T) {
	type want struct {
		activity, severity, status, action, disposition float64
	}
	for name, c := range map[string]struct {
		change func(*reeve.Record)
		want   want
	}{
		"allowed":     {func(*reeve.Record) {}, want{3, 1, 1, 1, 1}},
		"read":        {func(r *reeve.Record) { r.Tier = reeve.TierRead }, want{2, 1, 1, 1, 1}},
		"destructive": {func(r *reeve.Record) { r.Tier = reeve.TierDestructive }, want{99, 3, 1, 1, 1}},
		"approved":    {func(r *reeve.Record) { r.Approval, r.Confirmed = "a1", true }, want{3, 1, 1, 1, 8}},
		"rejected": {func(r *reeve.Record) {
			r.Approval, r.Decision, r.Status = "a1", reeve.Deny, reeve.StatusDenied
		}, want{3, 2, 2, 2, 25}},
		"blocked": {func(r *reeve.Record) {
			r.Tier, r.Decision, r.Status = reeve.TierDenied, reeve.Deny, reeve.StatusDenied
		}, want{99, 2, 2, 2, 2}},
		"failed":    {func(r *reeve.Record) { r.Status = reeve.StatusError }, want{3, 1, 2, 1, 1}},
		"timed out": {func(r *reeve.Record) { r.Status = reeve.StatusTimeout }, want{3, 1, 2, 1, 1}},
		"open":      {func(r *reeve.Record) { *r = intent(1) }, want{3, 1, 0, 1, 1}},
		"dangerous": {func(r *reeve.Record) { r.Mode, r.Dangerous = reeve.ModeDangerous, true }, want{3, 4, 1, 1, 1}},
		"bare": {func(r *reeve.Record) {
			*r = reeve.Record{CallID: "c", Phase: reeve.PhaseOutcome, Status: reeve.StatusDenied, Session: "s", Tool: "t", Actor: "user", Channel: "cli", Time: at(1)}
		}, want{99, 2, 2, 2, 2}},
		"hostile": {func(r *reeve.Record) {
			r.Tool, r.Args, r.Summary, r.Rule = "\u2028\x1b[31m\"", "{no json", "\xff\x00", strings.Repeat("x", 5000)
		}, want{3, 1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := outcome(1)
			c.change(&r)
			text := written(t, record(t, r), Options{Format: OCSF, Build: "1.2.3", Host: "desk"})
			var e map[string]any
			if err := json.Unmarshal([]byte(text), &e); err != nil || strings.Count(text, "\n") != 1 {
				t.Fatalf("%v: %q", err, text)
			}
			for _, f := range faults("event", e) {
				t.Error(f)
			}
			num := func(name string) float64 { n, _ := e[name].(float64); return n }
			got := want{num("activity_id"), num("severity_id"), num("status_id"), num("action_id"), num("disposition_id")}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if num("type_uid") != num("class_uid")*100+num("activity_id") {
				t.Errorf("type_uid is %v for activity %v", e["type_uid"], e["activity_id"])
			}
			if num("time") != float64(at(1).UnixMilli()) {
				t.Errorf("time is %v", e["time"])
			}
			version := e["metadata"].(map[string]any)["version"]
			if version != ocsfVersion || fmt.Sprint(e["metadata"].(map[string]any)["profiles"]) != "[security_control]" {
				t.Errorf("metadata is %v", e["metadata"])
			}
		})
	}
}

// TestTheSchemaIsAsked: what checks the events finds what is wrong with one.
func TestTheSchemaIsAsked(t *testing.T) {
	good := written(t, record(t, outcome(1)), Options{Format: OCSF})
	for name, spoil := range map[string]func(map[string]any){
		"missing":   func(e map[string]any) { delete(e, "src_endpoint") },
		"unknown":   func(e map[string]any) { e["colour"] = "red" },
		"enum":      func(e map[string]any) { e["severity_id"] = 7.0 },
		"caption":   func(e map[string]any) { e["severity"] = "High" },
		"type":      func(e map[string]any) { e["time"] = "now" },
		"nested":    func(e map[string]any) { delete(e["api"].(map[string]any), "operation") },
		"one of it": func(e map[string]any) { e["actor"].(map[string]any)["app_name"] = "" },
	} {
		var e map[string]any
		if err := json.Unmarshal([]byte(good), &e); err != nil {
			t.Fatal(err)
		}
		spoil(e)
		if len(faults("event", e)) == 0 {
			t.Errorf("%s: nothing was found", name)
		}
	}
}
