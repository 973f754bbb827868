package world

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func open(t *testing.T) *World {
	t.Helper()
	w, err := Open(filepath.Join(t.TempDir(), "account", "world.json"))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func update(t *testing.T, w *World, f func(*State) error) {
	t.Helper()
	if err := w.Update(f); err != nil {
		t.Fatal(err)
	}
}

func TestAWorldWithoutAFileIsAFreshAccount(t *testing.T) {
	w := open(t)
	err := w.View(func(s *State) error {
		if left := s.Leftovers(); len(left) > 0 || s.Region != "us-west-2" || s.Quotas[QuotaGOnDemand] != 64 {
			t.Errorf("region %s, leftovers %v", s.Region, left)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := Open(""); err == nil || !strings.Contains(err.Error(), PathVariable) {
		t.Errorf("no path: %v", err)
	}
}

// Fault F29 of the second trial.
func TestAFileThatCannotBeReadIsToldWithARemedy(t *testing.T) {
	w := open(t)
	if err := os.WriteFile(w.path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := w.View(func(*State) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "remove the folder "+filepath.Dir(w.path)) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsWrittenIsReadByAnotherHandle(t *testing.T) {
	w := open(t)
	update(t, w, func(s *State) error { return s.SetQuota(QuotaGSpot, 7) })
	other, _ := Open(w.path)
	read := func() (n float64) {
		if err := other.View(func(s *State) error { n = s.Quotas[QuotaGSpot]; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := read(); n != 7 {
		t.Errorf("quota %g", n)
	}
	update(t, w, func(s *State) error { return s.SetQuota(QuotaGSpot, 8) })
	if n := read(); n != 8 {
		t.Errorf("quota %g after a second change", n)
	}
}

func TestAFailedUpdateChangesNothing(t *testing.T) {
	w := open(t)
	update(t, w, func(s *State) error { return s.SetQuota(QuotaGSpot, 7) })
	failure := errors.New("refused")
	err := w.Update(func(s *State) error {
		s.Quotas[QuotaGSpot] = 9
		s.Put(&Resource{Type: "a", ID: "b"})
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	_ = w.View(func(s *State) error {
		if s.Quotas[QuotaGSpot] != 7 || len(s.Resources) > 0 {
			t.Errorf("quota %g, resources %v", s.Quotas[QuotaGSpot], s.Resources)
		}
		return nil
	})
}

func TestABrokenFileIsToldAndNotOverwritten(t *testing.T) {
	w := open(t)
	update(t, w, func(s *State) error { return nil })
	if err := os.WriteFile(w.path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := w.Update(func(*State) error { return nil }); err == nil || !strings.Contains(err.Error(), w.path) {
		t.Errorf("error %v", err)
	}
	if data, _ := os.ReadFile(w.path); string(data) != "{" {
		t.Errorf("the file is now %q", data)
	}
}

const counterVariable = "HEADROOM_TEST_COUNTER"

// addTimes adds one to a counter n times.
func addTimes(w *World, n int) error {
	for range n {
		if err := w.Update(func(s *State) error { s.Generations["counter"]++; return nil }); err != nil {
			return err
		}
	}
	return nil
}

// TestMain lets the test binary be one of the processes of the concurrency test.
func TestMain(m *testing.M) {
	if path := os.Getenv(counterVariable); path != "" {
		w, err := Open(path)
		if err == nil {
			err = addTimes(w, 50)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestSeveralProcessesLoseNoUpdate(t *testing.T) {
	w := open(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			c := exec.Command(self)
			c.Env = append(os.Environ(), counterVariable+"="+w.path)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for range 3 {
		wait.Go(func() {
			other, err := Open(w.path)
			if err == nil {
				err = addTimes(other, 50)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	_ = w.View(func(s *State) error {
		if n := s.Generations["counter"]; n != 300 {
			t.Errorf("counted %d of 300", n)
		}
		return nil
	})
	if files, _ := filepath.Glob(w.path + ".*"); !slices.Equal(files, []string{w.path + ".lock"}) {
		t.Errorf("files left beside the world: %v", files)
	}
}

func TestCallsAreNotedOnceByEveryProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "world.json")
	for range 2 { // two providers of one account
		w, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{"b", "a", "b"} {
			if err := w.Note(token); err != nil {
				t.Fatal(err)
			}
		}
		if noted, err := w.Noted(); err != nil || !slices.Equal(noted, []string{"a", "b"}) {
			t.Errorf("%q, %v", noted, err)
		}
	}
}
