package use

// special reads the programs whose words need code of their own: those that
// the table marks by=NAME.
func (r *reading) special() {
	switch r.p.By {
	case "env":
		r.env()
	case "xargs":
		r.xargs()
	case "flock":
		r.flock()
	case "script":
		r.script()
	case "parallel":
		r.parallel()
	case "sudo":
		r.sudo()
	case "su":
		r.su()
	case "setarch":
		r.setarch()
	case "busybox":
		r.busybox()
	case "opaque":
		r.opaque()
	case "runner":
		r.runner()
	case "python":
		r.python()
	case "editor":
		r.editor()
	case "database":
		r.database()
	case "sqlite":
		r.sqlite()
	case "find":
		r.find()
	case "fd":
		r.fd()
	case "sed":
		r.sed()
	case "awk":
		r.awk()
	case "jq":
		r.jq()
	case "yq":
		r.yq()
	case "git":
		r.git()
	case "gitlist":
		r.gitList()
	case "gitconfig":
		r.gitConfig()
	case "gitchange":
		r.gitChange()
	case "dd":
		r.dd()
	case "named":
		r.named()
	case "ln":
		r.ln()
	case "go":
		r.linker()
	case "tar":
		r.tar()
	case "unpack":
		r.unpack()
	case "crontab":
		r.crontab()
	case "kill":
		r.kill()
	case "make":
		r.make()
	case "npm":
		r.npm()
	case "publisher":
		r.publisher()
	case "verbs":
		r.verbs()
	case "curl":
		r.curl()
	case "wget":
		r.wget()
	case "ssh":
		r.ssh()
	case "remotecopy":
		r.remoteCopy()
	case "netcat":
		r.netcat()
	default:
		panic("use: no code for by=" + r.p.By)
	}
}
