// Package lint pins the tools of make lint: staticcheck and govulncheck, as tools of a module of their own, so that
// a program that imports Headroom downloads neither. It owns their versions alone; scripts/lint runs them.
package lint
