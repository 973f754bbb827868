// Package chart holds what every chart has in common: how its version is pinned and where it comes from.
//
// It owns the rules and no value: which chart, at which version and with which values, is each component's own.
package chart

import (
	"regexp"
	"strings"

	"github.com/headroom-eks/headroom/problem"
)

var (
	version    = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)
	repository = regexp.MustCompile(`^(https|oci)://[^/\s]+\S*$`)
)

// ValidateVersion reports a version that is not an exact release. Example is one that is.
func ValidateVersion(path, given, example string) (problems problem.List) {
	if !version.MatchString(given) {
		problems.Add(path, "is not an exact version", given, "use a form such as "+example+", without v")
	}
	return problems
}

// ValidateRepository reports an address that Helm takes for no repository. Empty means the chart's own.
func ValidateRepository(path, given string) (problems problem.List) {
	if given != "" && !repository.MatchString(given) {
		problems.Add(path, "is not the address of a chart repository", given, "use one with its scheme, https:// or "+
			"oci://")
	}
	return problems
}

// At gives a chart and its repository as Helm wants them. In an OCI registry, or a folder of unpacked charts, the whole
// address is the chart's name: the last part of the path occurs once, and nothing else names the chart (field fault
// BR-51).
func At(repository, name string) (chart, from string) {
	if strings.HasPrefix(repository, "https://") {
		return name, repository
	}
	return strings.TrimSuffix(repository, "/") + "/" + name, ""
}
