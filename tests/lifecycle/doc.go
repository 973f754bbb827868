// Package lifecycle holds tests only: the program on the real engine against the simulated account, from the preview of
// a new stack to an empty account. It owns what only the engine can show: unknowns, plans, replacements, order of
// deletion, outputs after a failure.
package lifecycle
