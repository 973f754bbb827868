package nodepool

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var scheduleWord = regexp.MustCompile(`^@(annually|yearly|monthly|weekly|daily|midnight|hourly)$`)

// scheduleFields of a cron line, as Karpenter's parser bounds them.
// https://github.com/robfig/cron/blob/v3.0.1/parser.go
var scheduleFields = []struct {
	low, high int
	names     []string // the first is low
}{
	{0, 59, nil}, {0, 23, nil}, {1, 31, nil},
	{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// cron says whether the text is a schedule that Karpenter reads.
func cron(text string) bool {
	if scheduleWord.MatchString(text) {
		return true
	}
	fields := strings.Split(text, " ")
	if len(fields) != len(scheduleFields) {
		return false
	}
	for i, field := range fields {
		for part := range strings.SplitSeq(field, ",") {
			if !cronPart(part, i) {
				return false
			}
		}
	}
	return true
}

// cronPart is one of a field's alternatives: a number, a range, all, each with a step or without.
func cronPart(part string, field int) bool {
	bounds, step, stepped := strings.Cut(part, "/")
	if n, err := strconv.Atoi(step); stepped && (err != nil || n < 1) {
		return false
	}
	if bounds == "*" || bounds == "?" {
		return true
	}
	from, to, isRange := strings.Cut(bounds, "-")
	low, ok := cronNumber(from, field)
	if !ok || !isRange {
		return ok
	}
	high, ok := cronNumber(to, field)
	return ok && low <= high
}

func cronNumber(text string, field int) (int, bool) {
	f := scheduleFields[field]
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.low + i, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= f.low && n <= f.high && !strings.HasPrefix(text, "+")
}
