// Command policy is Headroom's policy pack: rules that hold a Pulumi program to what it advertises and to safe
// defaults.
//
// It owns the rules and what they say. It does not own the program: it knows resources by type token and property name,
// and imports no provider SDK, so that it stays a small and fast build. Its blind spot is the operation (an analyzer is
// never told that a resource is replaced or what it was before): policy/cmd/plancheck looks at that.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	explain := flag.Bool("explain", false, "print the rules as a markdown page and stop")
	flag.Parse()
	if *explain {
		fmt.Print(Explain(Rules))
		return
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
