// Package world is the state of the simulated AWS account and of the clusters in it, kept in one JSON file.
//
// It owns what exists (resources, instances, quotas, offerings, Kubernetes objects), the acts that change it behind the
// program's back, and the file itself, which several provider processes share. It does not own the rules of any
// resource type; those are in sandbox/aws and sandbox/kubernetes. It is a test double: nothing here talks to AWS.
package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// PathVariable names the environment variable that tells every provider process where the world's file is.
const PathVariable = "HEADROOM_SANDBOX_WORLD"

// RegionVariable names the environment variable with the region of a world that is made anew; us-west-2 without it.
const RegionVariable = "HEADROOM_SANDBOX_REGION"

// World is a handle on the file. It is safe for concurrent use, by several processes too.
type World struct {
	path string

	mu    sync.Mutex
	state *State
	stamp stamp           // of the file that state was read from
	noted map[string]bool // what this handle has noted
}

// stamp changes whenever the file does: it is always replaced, never written in place.
type stamp struct {
	modified time.Time
	size     int64
	inode    uint64
}

// Open returns a handle on the world in the file at path, which need not exist: it is then a fresh account.
func Open(path string) (*World, error) {
	if path == "" {
		return nil, fmt.Errorf("no path for the world's file; set %s", PathVariable)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return &World{path: path}, nil
}

// View calls f with the state as it is now. f must not change it, nor keep it.
func (w *World) View(f func(*State) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.load(); err != nil {
		return err
	}
	return f(w.state)
}

// Update calls f with the state and keeps what f made of it, unless f returns an error: then nothing has changed.
func (w *World) Update(f func(*State) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	// A lock on the file itself would be lost with every rename, so there is one beside it.
	lock, err := os.OpenFile(w.path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("locking %s: %w", w.path, err)
	}
	if err := w.load(); err != nil {
		return err
	}
	if err := f(w.state); err != nil {
		w.state = nil // f may have changed the state we hold
		return err
	}
	if err := w.save(); err != nil {
		w.state = nil
		return err
	}
	return nil
}

// Note keeps that AWS was called for a resource type or a question, in a file of lines beside the world's: the state is
// not written again for every question.
func (w *World) Note(token string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.noted[token] {
		return nil
	}
	file, err := os.OpenFile(w.path+".calls", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.WriteString(token + "\n"); err != nil {
		return err
	}
	if w.noted == nil {
		w.noted = map[string]bool{}
	}
	w.noted[token] = true
	return nil
}

// Noted lists what every process noted, each once.
func (w *World) Noted() ([]string, error) {
	data, err := os.ReadFile(w.path + ".calls")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := strings.Fields(string(data))
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

func (w *World) load() error {
	info, err := os.Stat(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		w.state, w.stamp = Fresh(os.Getenv(RegionVariable)), stamp{}
		return nil
	} else if err != nil {
		return err
	}
	now := stampOf(info)
	if w.state != nil && now == w.stamp {
		return nil
	}
	data, err := os.ReadFile(w.path)
	if err != nil {
		return err
	}
	state := Fresh("")
	if err := json.Unmarshal(data, state); err != nil {
		return fmt.Errorf("the simulated account in %s cannot be read: %w; nothing repairs it: remove the folder %s, "+
			"and with it what was simulated, to begin anew", w.path, err, filepath.Dir(w.path))
	}
	w.state, w.stamp = state, now
	return nil
}

func (w *World) save() error {
	data, err := json.Marshal(w.state)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(w.path), filepath.Base(w.path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // does nothing after the rename
	if _, err := file.Write(data); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), w.path); err != nil {
		return err
	}
	info, err := os.Stat(w.path)
	if err != nil {
		return err
	}
	w.stamp = stampOf(info)
	return nil
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{modified: info.ModTime(), size: info.Size()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	return s
}
