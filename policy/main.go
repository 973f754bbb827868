// Command policy is Headroom's policy pack: rules that hold a Pulumi program to what it advertises and to safe
// defaults.
//
// It owns the pack's name, version and page of rules. The rules are in policy/rules, what they look at in policy/view,
// and policy/serve answers the engine. It imports no provider SDK, so that it stays a small and fast build. Its blind
// spot is the operation (an analyzer is never told that a resource is replaced or what it was before):
// policy/cmd/plancheck looks at that.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/headroom-eks/headroom/policy/rules"
	"github.com/headroom-eks/headroom/policy/serve"
)

var pack = serve.Pack{
	Name:    "headroom",
	Version: "0.1.0", // also in PulumiPolicy.yaml, a test compares
	Rules:   rules.All,
}

func main() {
	explain := flag.Bool("explain", false, "print the rules as a markdown page and stop")
	flag.Parse()
	if *explain {
		fmt.Print(Explain(pack.Rules))
		return
	}
	if err := pack.Serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
