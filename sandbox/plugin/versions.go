package plugin

// Versions are those of the Go SDKs in go.mod, by package. A plugin that reports a lower one makes the engine warn on a
// person's screen.
var Versions = map[string]string{
	"aws":        "6.83.4",
	"eks":        "3.9.1",
	"kubernetes": "4.32.0",
	"random":     "4.18.2",
}
