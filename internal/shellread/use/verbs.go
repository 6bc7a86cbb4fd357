package use

import (
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/late"
)

// external marks the command as one that changes something outside.
func (r *reading) external(why string) {
	r.because(reeve.CommandExternal, why)
	if r.External == "" {
		r.External = joined(r.ws)
	}
}

// linker: go hands -ldflags to its linker, which can be told to start another.
func (r *reading) linker() {
	for _, f := range r.u.Flags {
		if f.Name == "-ldflags" && (!f.Value.Known || strings.Contains(f.Value.Text, "-ext") || strings.Contains(f.Value.Text, "external")) {
			r.because(reeve.CommandRunsProgram, "-ldflags may name a program to link with")
		}
	}
}

// npm without a sub-command that the table knows.
func (r *reading) npm() {}

// publisherVerbs publish, whatever the tool.
var publisherVerbs = map[string]bool{"publish": true, "deploy": true, "release": true, "upload": true, "push": true}

// publisher: some tools do nothing but publish, some by a verb.
func (r *reading) publisher() {
	switch r.name {
	case "semantic-release", "np", "release-it":
		r.external(r.name + " publishes")
		return
	}
	for _, w := range r.u.Operands {
		s := strings.ToLower(w.Text)
		verb, _, _ := strings.Cut(s[strings.LastIndexByte(s, ':')+1:], "to")
		if publisherVerbs[s] || publisherVerbs[verb] || strings.HasPrefix(s, "release:") {
			r.external(r.name + " " + w.Text + " publishes")
			return
		}
	}
}

// readingVerbs look at a service without changing it.
var readingVerbs = late.NewWords(`list ls get describe show view status info version help logs log cat head tail search diff plan validate preview template lint output
	graph providers whoami history env config completion explain top events api-resources api-versions cluster-info wait port-forward proxy kustomize options auth
	checks watch dev build init synth console test fmt doc get-contexts current-context presign query scan check ps images inspect doctor regions open browse download`)

// verbs: tools for services, whose sub-commands are too many for a table. A
// use that names no reading verb changes something.
func (r *reading) verbs() {
	r.ReadOnly = false
	var ops []string
	for _, w := range r.u.Operands {
		if w.Lead == "" || w.Lead[0] != '-' {
			ops = append(ops, strings.ToLower(w.Text))
		}
	}
	if strings.Contains(r.p.Name, "docker") || strings.Contains(r.p.Name, "podman") || strings.Contains(r.p.Name, "nerdctl") {
		return // containers on this machine; what pushes is in the table
	}
	if len(ops) == 0 {
		if r.name == "vercel" && len(r.u.Flags) == 0 {
			r.external("vercel deploys")
		}
		return
	}
	if len(ops) > 1 && ops[0] == "rollout" && readingVerbs.Has(ops[1]) {
		return
	}
	switch r.name {
	case "gh", "glab":
		r.forge(ops)
	case "kubectl", "oc":
		if !readingVerbs.Has(ops[0]) {
			r.external(r.name + " " + ops[0] + " changes a cluster")
		}
	case "aws":
		r.aws(ops)
	case "ansible", "ansible-playbook":
		r.external(r.name + " changes other machines")
	case "gcloud", "az", "gsutil", "bq", "s3cmd", "rclone", "mc", "azcopy", "ibmcloud", "aliyun", "oci", "doctl", "linode-cli":
		for _, o := range ops {
			if readingVerbs.Has(o) || strings.HasPrefix(o, "list") || strings.HasPrefix(o, "describe") || strings.HasPrefix(o, "get-") {
				return
			}
		}
		r.external(r.name + " changes a service")
	default:
		if !readingVerbs.Has(ops[0]) && (len(ops) < 2 || !readingVerbs.Has(ops[1]) || ops[0] == "apply" || ops[0] == "destroy" || ops[0] == "deploy") {
			r.external(r.name + " " + ops[0] + " changes something outside this machine")
		} else if ops[0] == "state" || ops[0] == "workspace" {
			if len(ops) > 1 && !readingVerbs.Has(ops[1]) {
				r.external(r.name + " " + ops[1] + " changes something outside this machine")
			}
		}
	}
}

// forge: gh and glab.
func (r *reading) forge(ops []string) {
	host := Host{Name: "api.github.com", Port: 443}
	if r.name == "glab" {
		host.Name = "gitlab.com"
	}
	r.Hosts = append(r.Hosts, host)
	switch ops[0] {
	case "alias", "extension", "ext":
		r.because(reeve.CommandRunsProgram, r.name+" "+ops[0]+" installs commands")
		return
	case "api":
		for i, w := range r.args() {
			name, value, _ := strings.Cut(w.Lead, "=")
			if name == "-X" || name == "--method" {
				if value == "" && i+1 < len(r.args()) {
					value = r.args()[i+1].Text
				}
				if !strings.EqualFold(value, "GET") {
					r.external(r.name + " api sends method " + value)
				}
				return
			}
			if strings.HasPrefix(w.Lead, "-X") && !strings.EqualFold(w.Lead, "-XGET") {
				r.external(r.name + " api sends another method")
			}
		}
		for _, w := range r.args() {
			switch name, _, _ := strings.Cut(w.Lead, "="); {
			case name == "--field", name == "--raw-field", name == "--input", strings.HasPrefix(name, "-f"), strings.HasPrefix(name, "-F"):
				r.external(r.name + " api sends data")
			}
			if w.MayBeFlag() {
				r.because(reeve.CommandUnknownWords, "a word could become an option")
			}
		}
		return
	case "search", "status", "browse", "version", "help", "completion":
		return
	}
	if len(ops) > 1 && (readingVerbs.Has(ops[1]) || ops[1] == "clone" || ops[1] == "checkout" || ops[1] == "token" || ops[1] == "setup-git") {
		return
	}
	if len(ops) == 1 {
		return
	}
	r.external(r.name + " " + ops[0] + " " + ops[1] + " changes something outside this machine")
}

// awsReads start the names of operations that only look.
var awsReads = []string{"get", "list", "describe", "ls", "head", "scan", "query", "wait", "help", "batch-get", "lookup", "filter", "tail", "search", "view", "presign", "export-credentials", "decode", "simulate", "validate", "test-", "check", "estimate", "preview"}

func (r *reading) aws(ops []string) {
	if ops[0] == "configure" || ops[0] == "help" || len(ops) < 2 {
		return
	}
	if last := ops[len(ops)-1]; ops[0] == "s3" && (ops[1] == "cp" || ops[1] == "sync") && !strings.HasPrefix(last, "s3://") {
		r.file(r.ws[len(r.ws)-1], 'w', true)
		return
	}
	for _, p := range awsReads {
		if strings.HasPrefix(ops[1], p) {
			return
		}
	}
	r.external("aws " + ops[0] + " " + ops[1] + " changes a service")
}
