package lifecycle

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/world"
	"github.com/headroom-eks/headroom/tests/permissions"
)

// called has every type that any test made, and every question that was asked.
var called sync.Map

func noteCalls(t *testing.T, w *world.World) {
	tokens, err := w.Noted()
	if err != nil {
		t.Error(err)
	}
	for _, token := range tokens {
		called.Store(token, true)
	}
}

// TestMain fails when a policy of docs/permissions.md is wider than what all tests together use. A run of some tests
// cannot tell.
func TestMain(m *testing.M) {
	status := m.Run()
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	if status == 0 && whole {
		if unused := unusedTokens(); len(unused) > 0 {
			fmt.Fprintf(os.Stderr, "tests/permissions: no test makes or asks %q; take them out of the policies, or "+
				"test them\n", unused)
			status = 1
		}
	}
	os.Exit(status)
}

func unusedTokens() (unused []string) {
	for _, token := range permissions.Tokens() {
		if _, used := called.Load(token); !used {
			unused = append(unused, token)
		}
	}
	slices.Sort(unused)
	return unused
}
