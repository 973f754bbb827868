// Package karpenter holds no code: its tests hold what the program makes for Karpenter against the real thing, the
// types, charts and request builders of github.com/aws/karpenter-provider-aws at the version that the program pins.
//
// It is a module of its own since Karpenter needs a newer Go than the program. GOTOOLCHAIN=auto takes the one that
// go.mod names.
package karpenter
