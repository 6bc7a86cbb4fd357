package places

// Stores are hidden below every home directory (A18). A directory
// becomes an empty read-only one, a file an empty one that nobody may open.
var Stores = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".password-store", ".1password", ".local/share/keyrings", ".pki",
	".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub", ".config/op", ".config/containers", ".config/doctl", ".config/heroku", ".config/rclone",
	".age", ".config/1Password", ".config/Bitwarden", ".config/keepassxc", ".config/stripe", ".local/share/kwalletd", ".databrickscfg", ".passwd-s3fs",
	".snowflake", ".htpasswd", "snap/firefox", "snap/chromium", ".config/opera*", ".config/vivaldi*", ".config/google-chrome-*", ".config/microsoft-edge-*",
	".config/age", ".config/sops", ".config/keybase", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
	".config/git/credentials", ".config/pypoetry/auth.toml", ".config/Bitwarden CLI", ".mozilla", ".thunderbird", ".var/app",
	".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".mylogin.cnf", ".vault-token", ".s3cfg", ".boto",
	".cargo/credentials*", ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
	".terraform.d", ".terraformrc", ".config/fly", ".fly", ".config/netlify", ".Xauthority", ".ICEauthority", ".huggingface", ".cache/huggingface/token",
	".colima", ".lima", ".rd", ".orbstack", ".nuget/NuGet/NuGet.Config", ".config/configstore", ".composer/auth.json", ".config/composer/auth.json",
}

// Secrets of the machine are hidden wherever they exist: run by root, the process
// would own them.
var Secrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private", "/etc/ssh/ssh_host_*_key",
	"/etc/docker/key.json", "/etc/kubernetes", "/etc/rancher", "/etc/wireguard", "/etc/NetworkManager/system-connections", "/root/.ssh",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/var/lib/sss",
}

// MovedStores name a credential store, or the directory of several, that a
// person keeps elsewhere; what is joined stands below it.
var MovedStores = map[string][]string{
	"AWS_SHARED_CREDENTIALS_FILE": {""}, "AWS_CONFIG_FILE": {""}, "AZURE_CONFIG_DIR": {""}, "CLOUDSDK_CONFIG": {""}, "DOCKER_CONFIG": {""}, "GH_CONFIG_DIR": {""},
	"GNUPGHOME": {""}, "GOOGLE_APPLICATION_CREDENTIALS": {""}, "KUBECONFIG": {""}, "NETRC": {""}, "NPM_CONFIG_USERCONFIG": {""}, "npm_config_userconfig": {""},
	"PASSWORD_STORE_DIR": {""}, "PGPASSFILE": {""}, "VAULT_TOKEN_FILE": {""}, "XAUTHORITY": {""}, "CARGO_HOME": {"credentials", "credentials.toml"},
	"XDG_CONFIG_HOME": {"gcloud", "gh", "hub", "op", "containers", "doctl", "heroku", "rclone", "age", "sops", "google-chrome", "chromium", "git/credentials",
		"1Password", "Bitwarden", "Bitwarden CLI", "keepassxc", "keybase", "stripe", "fly", "netlify", "glab-cli", "configstore", "composer/auth.json"},
	"XDG_DATA_HOME": {"keyrings"},
}
