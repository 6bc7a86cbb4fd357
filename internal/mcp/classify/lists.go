package classify

// Identity is a program whose tools are listed. A server is one of them only
// where its package was verified: the name that a person or a server gives
// proves nothing (amendment 18).
type Identity string

const (
	Nobody      Identity = ""
	Playwright  Identity = "playwright"
	BraveSearch Identity = "brave-search"
	Fetch       Identity = "fetch"
)

// packages are the packages whose verified identity makes a server one that
// is listed, by the kind of registry.
var packages = map[string]Identity{
	"npm:@playwright/mcp":                           Playwright,
	"npm:@modelcontextprotocol/server-brave-search": BraveSearch,
	"npm:@brave/brave-search-mcp-server":            BraveSearch,
	"pypi:mcp-server-fetch":                         Fetch,
}

// IdentityOf is the program that a verified package is, such as
// "npm:@playwright/mcp".
func IdentityOf(pkg string) Identity { return packages[pkg] }

// lists are what contract G13 and G14 say, with evaluate as a write, since it
// runs script in the page, and the two tools of @playwright/mcp 0.0.83 that
// run code in the server itself.
var lists = map[Identity]map[string]Class{
	Playwright: {
		"browser_navigate": Read, "browser_snapshot": Read, "browser_console_messages": Read, "browser_network_requests": Read,
		"browser_tabs": Read, "browser_wait_for": Read, "browser_navigate_back": Read, "browser_close": Read,

		"browser_evaluate": Write, "browser_click": Write, "browser_fill_form": Write, "browser_file_upload": Write, "browser_type": Write,
		"browser_select_option": Write, "browser_press_key": Write, "browser_drag": Write, "browser_hover": Write,

		"browser_run_code": Destructive, "browser_run_code_unsafe": Destructive,
	},
	BraveSearch: {"brave_web_search": Read, "brave_local_search": Read},
	Fetch:       {"fetch": Read},
}

// addresses are the arguments in which a listed tool is told where to go.
var addresses = map[Identity]map[string]string{
	Playwright: {"browser_navigate": "url", "browser_tabs": "url"},
	Fetch:      {"fetch": "url"},
}
