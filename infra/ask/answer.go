package ask

// Answer is what AWS said to a question: a value, or the reason why there is none. The zero value was not asked.
// "There is no such thing" is a value.
type Answer[T any] struct {
	value  T
	reason string
	known  bool
}

// Known is an answer that holds a value.
func Known[T any](value T) Answer[T] { return Answer[T]{value: value, known: true} }

// Unknown is an answer without a value.
func Unknown[T any](reason string) Answer[T] { return Answer[T]{reason: reason} }

// Get returns the value; false when there is none, and then the zero value.
func (a Answer[T]) Get() (T, bool) { return a.value, a.known }

// Value is the value, or the zero value where there is none. For those who have no other use for the difference.
func (a Answer[T]) Value() T { return a.value }

// Known says that there is a value.
func (a Answer[T]) Known() bool { return a.known }

// Reason is why there is no value; empty when there is one.
func (a Answer[T]) Reason() string {
	switch {
	case a.known:
		return ""
	case a.reason == "":
		return "it was not asked"
	default:
		return a.reason
	}
}
