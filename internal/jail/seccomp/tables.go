package seccomp

// table is what the generator knows of one architecture.
type table struct {
	audit  uint32 // AUDIT_ARCH_*, linux/audit.h
	x32    bool   // a second call table starts at 0x40000000
	column int    // in numbers
}

var tables = map[string]table{
	"amd64": {audit: 0xc000003e, x32: true, column: 0},
	"arm64": {audit: 0xc00000b7, column: 1},
}

// denied calls look at or steer other processes, mount, make or enter
// namespaces, load code into the kernel, reach keys or files past the mounts,
// or change the machine. io_uring performs calls that no filter sees.
var denied = []string{
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
	"unshare", "setns", "bpf", "add_key", "request_key", "keyctl", "userfaultfd", "perf_event_open", "open_by_handle_at", "kexec_load", "kexec_file_load",
	"init_module", "finit_module", "delete_module", "create_module", "query_module", "reboot", "swapon", "swapoff", "settimeofday", "clock_settime", "acct",
	"quotactl", "quotactl_fd", "syslog", "vhangup", "iopl", "ioperm", "lookup_dcookie", "nfsservctl", "uselib", "fanotify_init", "_sysctl",
}

// absent calls take their arguments from memory, where a filter cannot look.
// Programs know kernels without them and use the older call.
var absent = []string{"clone3", "openat2"}

// numbers are the calls' numbers on amd64 and arm64; -1 where there is none.
var numbers = map[string][2]int{
	"_sysctl":           {156, -1},
	"accept":            {43, 202},
	"accept4":           {288, 242},
	"acct":              {163, 89},
	"add_key":           {248, 217},
	"bind":              {49, 200},
	"bpf":               {321, 280},
	"chmod":             {90, -1},
	"chroot":            {161, 51},
	"clock_settime":     {227, 112},
	"clone":             {56, 220},
	"clone3":            {435, 435},
	"connect":           {42, 203},
	"creat":             {85, -1},
	"create_module":     {174, -1},
	"delete_module":     {176, 106},
	"fanotify_init":     {300, 262},
	"fchmod":            {91, 52},
	"fchmodat":          {268, 53},
	"fchmodat2":         {452, 452},
	"finit_module":      {313, 273},
	"fsconfig":          {431, 431},
	"fsmount":           {432, 432},
	"fsopen":            {430, 430},
	"fspick":            {433, 433},
	"init_module":       {175, 105},
	"io_uring_enter":    {426, 426},
	"io_uring_register": {427, 427},
	"io_uring_setup":    {425, 425},
	"ioctl":             {16, 29},
	"ioperm":            {173, -1},
	"iopl":              {172, -1},
	"kcmp":              {312, 272},
	"kexec_file_load":   {320, 294},
	"kexec_load":        {246, 104},
	"keyctl":            {250, 219},
	"listen":            {50, 201},
	"lookup_dcookie":    {212, 18},
	"mknod":             {133, -1},
	"mknodat":           {259, 33},
	"mount":             {165, 40},
	"mount_setattr":     {442, 442},
	"move_mount":        {429, 429},
	"nfsservctl":        {180, 42},
	"open":              {2, -1},
	"open_by_handle_at": {304, 265},
	"open_tree":         {428, 428},
	"open_tree_attr":    {467, 467},
	"openat":            {257, 56},
	"openat2":           {437, 437},
	"perf_event_open":   {298, 241},
	"pidfd_getfd":       {438, 438},
	"pivot_root":        {155, 41},
	"process_madvise":   {440, 440},
	"process_vm_readv":  {310, 270},
	"process_vm_writev": {311, 271},
	"ptrace":            {101, 117},
	"query_module":      {178, -1},
	"quotactl":          {179, 60},
	"quotactl_fd":       {443, 443},
	"reboot":            {169, 142},
	"request_key":       {249, 218},
	"setns":             {308, 268},
	"settimeofday":      {164, 170},
	"socket":            {41, 198},
	"socketpair":        {53, 199},
	"swapoff":           {168, 225},
	"swapon":            {167, 224},
	"syslog":            {103, 116},
	"umount2":           {166, 39},
	"unshare":           {272, 97},
	"uselib":            {134, -1},
	"userfaultfd":       {323, 282},
	"vhangup":           {153, 58},
}
