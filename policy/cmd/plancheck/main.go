// Command plancheck reads the event log of a preview and refuses what no policy can see: policies are shown what a
// resource will be, never what it was or that it is replaced.
//
// Write the log with PULUMI_DEBUG_COMMANDS=true pulumi preview --event-log preview.json; then
//
//	plancheck preview.json                  lists what is refused, exit status 1 if anything is
//	plancheck -allow <urn> preview.json     lets one resource pass, for a change that is meant
//	plancheck -summary preview.json         writes a comment for a pull request: changes, policy findings, capacity
//	plancheck -update up.json preview.json  also holds the update's resources to the preview's
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
)

func main() {
	var allowed []string
	summary := flag.Bool("summary", false, "write a markdown summary instead, exit status 0")
	update := flag.String("update", "", "event log of the update that followed")
	flag.Func("allow", "URN that may be replaced, deleted or resized; repeatable", func(urn string) error {
		allowed = append(allowed, urn)
		return nil
	})
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	preview := read(flag.Arg(0))
	refused := Refusals(preview, allowed)
	if *summary {
		fmt.Print(Summary(preview, refused))
		return
	}
	if *update != "" {
		refused = slices.Concat(refused, Surprises(preview, read(*update)))
	}
	for _, line := range refused {
		fmt.Fprintln(os.Stderr, line)
	}
	if len(refused) > 0 {
		os.Exit(1)
	}
}

func read(path string) Plan {
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		var plan Plan
		if plan, err = ReadPlan(file); err == nil {
			return plan
		}
	}
	fmt.Fprintf(os.Stderr, "read %s: %v\n", path, err)
	os.Exit(2)
	return Plan{}
}
