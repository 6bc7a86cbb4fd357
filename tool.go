package reeve

// Tier is the risk a tool carries by what it is (contract G8 to G12). The
// zero value is denied: a tool that declares nothing never runs.
type Tier uint8

const (
	TierDenied      Tier = iota // never runs, no override
	TierDestructive             // asks with a warning, always
	TierWrite                   // asks unless policy says otherwise
	TierRead                    // runs unasked
)

var tierNames = [...]string{"denied", "destructive", "write", "read"}

func (t Tier) String() string { return name(tierNames[:], int(t)) }

// ParseTier reads the name of a tier.
func ParseTier(s string) (Tier, error) {
	i, err := parse("tier", tierNames[:], s)
	return Tier(i), err
}

// Mode says how a session turns what policy leaves open (contract A44 to
// A49). The zero value is plan, which denies every mutation.
type Mode uint8

const (
	ModePlan Mode = iota
	ModeAuto
	ModeDefault
	ModeDangerous
)

var modeNames = [...]string{"plan", "auto", "default", "dangerous"}

func (m Mode) String() string { return name(modeNames[:], int(m)) }

// ParseMode reads the name of a mode.
func ParseMode(s string) (Mode, error) {
	i, err := parse("mode", modeNames[:], s)
	return Mode(i), err
}

// Sandbox is the state of the boundary that a call would run in.
type Sandbox uint8

const (
	SandboxMissing Sandbox = iota // none, or one that did not bite when probed
	SandboxReduced                // bites in part; counts as missing unless the profile names it
	SandboxReady
)

var sandboxNames = [...]string{"missing", "reduced", "ready"}

func (s Sandbox) String() string { return name(sandboxNames[:], int(s)) }

// ParseSandbox reads the name of a sandbox state; "unavailable" means missing.
func ParseSandbox(s string) (Sandbox, error) {
	if s == "unavailable" {
		return SandboxMissing, nil
	}
	i, err := parse("sandbox state", sandboxNames[:], s)
	return Sandbox(i), err
}

// Catalog is a person's own setting for one tool (contract Y24 to Y28). The
// zero value is unset: the tool's tier decides.
type Catalog uint8

const (
	CatalogUnset    Catalog = iota
	CatalogAuto             // runs unasked where nothing stricter applies
	CatalogAsk              // ask first: one approval, one call
	CatalogApproval         // blocked until the person changes the setting
	CatalogOff              // disabled
)

var catalogNames = [...]string{"", "auto", "ask", "approval", "off"}

func (c Catalog) String() string { return name(catalogNames[:], int(c)) }

// ParseCatalog reads the name of a catalog state.
func ParseCatalog(s string) (Catalog, error) {
	i, err := parse("catalog state", catalogNames[1:], s)
	return Catalog(i + 1), err
}
