// Package habits holds the tree to numbers that a reader feels: how wide a line is, how long a function is, in how many
// files one scaler is named.
//
// It owns what can be counted in the text of the Go files of all modules, and in renovate.json. It does not judge
// meaning (staticcheck and vet do, in scripts/lint) or behaviour (the tests beside the code do). It reads syntax
// without types, so it needs the standard library alone and no build.
package habits
