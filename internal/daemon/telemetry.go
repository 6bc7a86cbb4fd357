package daemon

import (
	"github.com/reeve-gate/reeve/internal/audit/metrics"
	"github.com/reeve-gate/reeve/internal/telemetry"
)

// newTelemetry is what this daemon tells of itself.
func newTelemetry(d *Daemon) (*telemetry.Room, error) {
	return telemetry.Open(telemetry.Options{
		Config: d.conf, State: d.opt.Paths.State, Build: d.opt.Build, Vault: d.vault, Mask: d.clean.AddSecrets, Gauges: d.gauges, Log: d.logf,
	})
}

// gauges are what a page of metrics tells of the moment.
func (d *Daemon) gauges() []metrics.Gauge {
	v := d.vault.State()
	state := "open"
	switch {
	case v.Fault != "":
		state = "faulty"
	case !v.Exists:
		state = "none"
	case v.Locked:
		state = "locked"
	}
	good := 1.0
	if d.log.Broken() != nil {
		good = 0
	}
	all := []metrics.Gauge{
		{Name: "reeve_start_time_seconds", Help: "When this daemon began, since 1970.", Value: float64(d.started.UnixMilli()) / 1000},
		{Name: "reeve_approvals_waiting", Help: "Questions that wait for a person.", Value: float64(len(d.broker.Questions()))},
		{Name: "reeve_sessions", Help: "Sessions that are open.", Value: float64(len(d.store.List()))},
		{Name: "reeve_audit_good", Help: "1 while the record verifies; else everything is denied.", Value: good},
	}
	for _, s := range []string{"none", "locked", "open", "faulty"} {
		g := metrics.Gauge{Name: "reeve_vault", Help: "How the vault is: 1 at its state.", Labels: [][2]string{{"state", s}}}
		if s == state {
			g.Value = 1
		}
		all = append(all, g)
	}
	return all
}
