package seatbelt

import "github.com/reeve-gate/reeve/internal/jail"

// service is a service of the system by its name, and why a program needs it.
type service struct{ name, why string }

// Services that are reached in every profile.
var ordinary = []service{
	{"com.apple.system.opendirectoryd.libinfo", "names of users and groups: getpwuid, ls -l, git's author"},
	{"com.apple.system.notification_center", "the C library hears here of a changed time zone"},
	{"com.apple.logd", "the system's log, which frameworks open before they do anything else"},
	{"com.apple.diagnosticd", "as above: where the log's settings come from"},
}

// Services that are reached where unix sockets are: not in the profile strict.
var watching = []service{
	{"com.apple.FSEvents", "watchers of files: editors, test runners, bundlers. It tells names, not contents"},
}

// Services that are reached with an open network only. Through a proxy of
// ours names are resolved outside, and trustd would fetch certificates and
// their revocation from addresses that a server chooses: a way past the proxy.
var online = []service{
	{"com.apple.SystemConfiguration.configd", "which network there is"},
	{"com.apple.SystemConfiguration.DNSConfiguration", "which name servers there are"},
	{"com.apple.dnssd.service", "host names are resolved by a daemon"},
	{"com.apple.trustd.agent", "certificates are judged by a daemon: Go, Swift and everything on CFNetwork"},
	{"com.apple.trustd", "as above, for the system's own"},
}

// Services that are closed by name, behind every allow, so that no later line
// opens them by accident.
var closed = []service{
	{"com.apple.coreservices.appleevents", "Apple Events make other programs act, with the person's rights (Y65)"},
	{"com.apple.SecurityServer", "the keychain is a credential store (A18)"},
	{"com.apple.securityd.xpc", "as above"},
	{"com.apple.secd", "as above"},
	{"com.apple.pasteboard.1", "what the person copied, and a way to put something there that they paste"},
}

// The same by the beginning of the name.
var closedPrefixes = []service{
	{"com.apple.coreservices.launchservicesd", "LaunchServices opens programs outside of every boundary (Y65)"},
	{"com.apple.lsd.", "as above: what opens which document"},
	{"com.apple.xpc.launchd.", "jobs of the session's own launchd run outside"},
}

// settings of the kernel that may be read; each ends a family or is one name.
// The arguments and environments of other processes (kern.procargs2) are none
// of them.
var settings = []string{
	"hw.", "machdep.cpu.", "net.routetable.", "kern.proc.pgrp.", "kern.proc.pid.", "sysctl.", "user.", "vm.loadavg", "vm.swapusage",
	"kern.argmax", "kern.boottime", "kern.clockrate", "kern.hostname", "kern.maxfiles", "kern.maxproc", "kern.ngroups", "kern.os",
	"kern.secure_kernel", "kern.usrstack64", "kern.version", "security.mac.lockdown_mode_state",
}

// servicesOf are the services that a plan's programs reach.
func servicesOf(plan jail.Plan) []service {
	all := append([]service(nil), ordinary...)
	if !plan.NoUnix {
		all = append(all, watching...)
	}
	if plan.Net == jail.UnrestrictedNetwork {
		all = append(all, online...)
	}
	return all
}
