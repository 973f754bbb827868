package run

import "strings"

// OperationError is a failed operation: what the engine and the program said, without the engine's stack of wrappers.
type OperationError struct {
	Operation string
	Result    Result
	Stderr    string
	Err       error // as the Automation API returned it, with everything that was printed
}

func (e *OperationError) Unwrap() error { return e.Err }

func (e *OperationError) Error() string {
	var said []string
	for _, d := range e.Result.Diagnostics {
		if d.Severity == "error" || d.Severity == "policy mandatory" {
			said = append(said, d.Message)
		}
	}
	if len(said) == 0 && e.Stderr != "" {
		said = append(said, e.Stderr)
	}
	if len(said) == 0 {
		said = append(said, e.Err.Error())
	}
	return "sandbox " + e.Operation + " failed:\n" + strings.Join(said, "\n")
}
