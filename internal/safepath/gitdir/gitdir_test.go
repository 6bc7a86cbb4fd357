package gitdir

import "testing"

func TestWhatLiesInARepositoryOfAnyName(t *testing.T) {
	stands := map[string]bool{"./HEAD": true, "x/HEAD": true, "x/objects": true, "x/refs": true, "deep/wt/HEAD": true, "deep/wt/commondir": true, "half/HEAD": true, "half/objects": true}
	has := func(dir, name string) bool { return stands[dir+"/"+name] }
	for path, want := range map[string]bool{
		"x": false, "x/HEAD": true, "x/config": true, "x/hooks/pre-commit": true, "x/objects/ab/c": true, "x/README": false, "x/sub/config": false,
		"deep/wt/config.worktree": true, "deep/wt": false, "deep/config": false, "half/config": false, "half/HEAD": false, "HEAD": false, "config": false, "other/config": false,
	} {
		if got := Holds(path, has); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
