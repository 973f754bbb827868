package config

import (
	"fmt"
	"regexp"

	"github.com/headroom-eks/headroom/problem"
)

// Karpenter's own patterns, which Auto Mode shares. https://karpenter.sh/v1.15/concepts/nodepools/
var (
	nodeDuration   = regexp.MustCompile(`^([0-9]+(s|m|h))+$`)
	budgetNodes    = regexp.MustCompile(`^((100|[0-9]{1,2})%|[0-9]+)$`)
	budgetDuration = regexp.MustCompile(`^(([0-9]+(h|m))|([0-9]+h[0-9]+m))$`)
	budgetSchedule = regexp.MustCompile(
		`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+ \S+ \S+ \S+ \S+)$`)
)

const maxBudgets = 50

func validateDisruption(at, consolidateAfter, expireAfter string, budgets []Budget, problems *problem.List) {
	for _, d := range []struct{ key, value string }{{"consolidateAfter", consolidateAfter},
		{"expireAfter", expireAfter}} {
		if d.value != "" && d.value != "Never" && !nodeDuration.MatchString(d.value) {
			problems.Addf(at+"."+d.key, "found %q; write a duration such as 10m or 720h, or Never", d.value)
		}
	}
	if len(budgets) > maxBudgets {
		problems.Addf(at+".budgets", "found %d; Karpenter takes %d", len(budgets), maxBudgets)
	}
	for i, b := range budgets {
		path := fmt.Sprintf("%s.budgets[%d]", at, i)
		if !budgetNodes.MatchString(b.Nodes) {
			problems.Addf(path+".nodes", "found %q; write a number or a percentage, for example \"1\" or \"10%%\"",
				b.Nodes)
		}
		if (b.Schedule == "") != (b.Duration == "") {
			problems.Addf(path, "schedule and duration go together; give both or neither")
		}
		if b.Schedule != "" && !budgetSchedule.MatchString(b.Schedule) {
			problems.Addf(path+".schedule", "found %q; write a cron line of five fields, in UTC, for example \"0 9 * "+
				"* mon-fri\"", b.Schedule)
		}
		if b.Duration != "" && !budgetDuration.MatchString(b.Duration) {
			problems.Addf(path+".duration", "found %q; write hours and minutes, for example 8h or 1h30m", b.Duration)
		}
		for _, reason := range b.Reasons {
			oneOf(path+".reasons", reason, []string{"Empty", "Drifted", "Underutilized"}, problems)
		}
	}
}
