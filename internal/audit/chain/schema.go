package chain

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
)

// Columns of tool_executions in the order of the table. The leaf of the chain
// covers those from call_id to parent_id.
var Columns = [...]string{
	"id",
	"call_id", "phase", "timestamp", "session_id", "tool_name", "tool_source", "risk_tier", "arguments",
	"result_status", "result_summary", "user_confirmed", "duration_ms", "input_channel",
	"actor", "origin", "mode", "decision", "step", "rule", "rule_at", "approval_id",
	"dangerous_mode", "sandbox", "contained", "parent_id",
	"prev_hash", "hash",
}

// Places of columns that code names.
const (
	ColID        = 0
	ColFirst     = 1 // first column of the leaf
	ColCall      = 1
	ColPhase     = 2
	ColStatus    = 9
	ColPrev      = len(Columns) - 2
	ColHash      = len(Columns) - 1
	LeafColumns  = ColPrev - ColFirst
	TableColumns = len(Columns)
)

const createTable = `CREATE TABLE tool_executions (
  id INTEGER PRIMARY KEY,
  call_id TEXT NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('intent', 'outcome')),
  timestamp TEXT NOT NULL,
  session_id TEXT NOT NULL,
  tool_name TEXT NOT NULL,
  tool_source TEXT NOT NULL,
  risk_tier TEXT NOT NULL,
  arguments TEXT,
  result_status TEXT,
  result_summary TEXT,
  user_confirmed INTEGER NOT NULL,
  duration_ms INTEGER,
  input_channel TEXT NOT NULL,
  actor TEXT NOT NULL,
  origin TEXT NOT NULL,
  mode TEXT NOT NULL,
  decision TEXT NOT NULL,
  step TEXT NOT NULL,
  rule TEXT,
  rule_at TEXT,
  approval_id TEXT,
  dangerous_mode INTEGER NOT NULL,
  sandbox TEXT NOT NULL,
  contained INTEGER NOT NULL,
  parent_id TEXT,
  prev_hash BLOB NOT NULL,
  hash BLOB NOT NULL
) STRICT`

// LastOfCall is true for the row that speaks for its call. The session index
// carries call_id, so it costs one probe a row.
const LastOfCall = `NOT EXISTS (SELECT 1 FROM tool_executions n
    WHERE n.session_id = t.session_id AND n.call_id = t.call_id AND n.id > t.id)`

// Schema is every object of ours and the text SQLite keeps of it. Readers use
// the same texts and not the stored view, which an attacker may have replaced.
var Schema = []struct{ Kind, Name, SQL string }{
	{"table", "tool_executions", createTable},
	{"index", "tool_executions_session", "CREATE INDEX tool_executions_session ON tool_executions(session_id, call_id)"},
	{"index", "tool_executions_timestamp", "CREATE INDEX tool_executions_timestamp ON tool_executions(timestamp)"},
	{"index", "tool_executions_tool", "CREATE INDEX tool_executions_tool ON tool_executions(tool_name)"},
	{"view", "executions", "CREATE VIEW executions AS SELECT " + ExecutionColumns() + "\n  FROM tool_executions t WHERE " + LastOfCall},
}

// ExecutionColumns are the columns of an execution: a call without an outcome
// has the status unknown.
func ExecutionColumns() string {
	cols := Columns
	cols[ColStatus] = "CASE t.phase WHEN 'intent' THEN 'unknown' ELSE t.result_status END AS result_status"
	return strings.Join(cols[:], ", ")
}

var (
	// AllColumns are the columns as a list for SELECT.
	AllColumns = strings.Join(Columns[:], ", ")
	// InsertRow takes every column as an argument.
	InsertRow = "INSERT INTO tool_executions VALUES (?" + strings.Repeat(", ?", TableColumns-1) + ")"
)

// Definitions compares what SQLite keeps of the schema, and the numbers in its
// header, with ours. Objects of
// others on other tables are nobody's business; a trigger on the table is.
func Definitions(ctx context.Context, c *Conn) (broken *Break, empty bool, err error) {
	found := map[string]string{}
	err = c.Query(ctx, "SELECT type, name, tbl_name, sql FROM sqlite_schema", nil, func(v []driver.Value) error {
		kind, _ := v[0].(string)
		name, _ := v[1].(string)
		table, _ := v[2].(string)
		sql, _ := v[3].(string)
		if kind == "trigger" && (table == "tool_executions" || table == "executions") && broken == nil {
			broken = &Break{0, KindDefinition, fmt.Sprintf("trigger %s was added to %s", name, table)}
		}
		found[kind+" "+name] = sql
		return nil
	})
	if err != nil || broken != nil {
		return broken, false, err
	}
	if len(found) == 0 {
		return nil, true, nil
	}
	for _, o := range Schema {
		switch sql, have := found[o.Kind+" "+o.Name]; {
		case !have:
			return &Break{0, KindDefinition, fmt.Sprintf("%s %s is missing", o.Kind, o.Name)}, false, nil
		case sql != o.SQL:
			return &Break{0, KindDefinition, fmt.Sprintf("%s %s was changed", o.Kind, o.Name)}, false, nil
		}
	}
	broken, err = header(ctx, c)
	return broken, false, err
}

// header compares the two numbers of the database's header that are there for
// its application (sqlite.org/fileformat2.html, offsets 60 and 68). Nothing
// here reads them; what stands in them was put there by somebody else.
func header(ctx context.Context, c *Conn) (broken *Break, err error) {
	for _, field := range []string{"user_version", "application_id"} {
		err = c.Query(ctx, "PRAGMA "+field, nil, func(v []driver.Value) error {
			if n, _ := v[0].(int64); n != 0 && broken == nil {
				broken = &Break{0, KindDefinition, fmt.Sprintf("%s was changed from 0 to %d", field, n)}
			}
			return nil
		})
		if err != nil || broken != nil {
			return broken, err
		}
	}
	return nil, nil
}
