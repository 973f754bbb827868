package run

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// misleading starts the lines that the engine prints after a destroy. A person who follows them acts on a real stack,
// not on the sandbox's.
var misleading = []string{"The resources in the stack have been deleted", "If you want to remove the stack completely"}

// lineWriter lets the engine's two streams share one writer, line by line, without the lines that mislead.
type lineWriter struct {
	mu   sync.Mutex
	w    io.Writer
	rest []byte
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		line := l.rest[:end+1]
		l.rest = l.rest[end+1:]
		if hasAnyPrefix(plain(string(line)), misleading) {
			continue
		}
		if _, err := l.w.Write(line); err != nil {
			return 0, err
		}
	}
}

// flush writes what came without an end of line.
func (l *lineWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := string(l.rest); strings.TrimSpace(text) != "" {
		_, _ = io.WriteString(l.w, text+"\n")
	}
	l.rest = nil
}
