package build

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/infra/kubeapi"
)

// entering asks an API that gives these answers and then repeats the last one. Said is what was logged.
func entering(t *testing.T, answers ...error) (asked int, said []string, err error) {
	t.Helper()
	err = entrance{
		may: func(context.Context) (bool, string, error) {
			answer := answers[min(asked, len(answers)-1)]
			asked++
			if errors.As(answer, new(*notAllowed)) {
				return false, "", nil
			}
			return answer == nil, "", answer
		},
		say:   func(text string) error { said = append(said, text); return nil },
		limit: 50 * time.Millisecond,
		pause: time.Millisecond,
	}.wait(t.Context())
	return asked, said, err
}

var (
	nobody       = &kubeapi.Error{Err: errors.New("no such host")}
	unauthorized = &kubeapi.Error{Status: 401, Err: errors.New("401 Unauthorized")}
)

func TestWhoIsLetInAtOnceWaitsForNothing(t *testing.T) {
	if asked, said, err := entering(t, nil); asked != 1 || len(said) != 0 || err != nil {
		t.Errorf("%d, %q, %v", asked, said, err)
	}
}

// The review of AWS's own rules, B2: an access entry works seconds after it is made.
func TestANewEndpointAndANewEntryAreWaitedForWithAWord(t *testing.T) {
	asked, said, err := entering(t, nobody, nobody, unauthorized, &notAllowed{}, nil)
	if asked != 5 || err != nil || len(said) != 1 || !strings.Contains(said[0], "no such host") {
		t.Errorf("%d, %q, %v", asked, said, err)
	}
}

func TestWhoIsNeverLetInHearsWhyAndWhatToDo(t *testing.T) {
	const arn = "arn:aws:sts::123456789012:assumed-role/ci/session"
	for name, c := range map[string]struct {
		answer error
		open   []string
		says   []string
	}{
		"no way, private": {nobody, nil, []string{"cannot be reached from here (no such host)", "inside the VPC only"}},
		"no way, public": {nobody, []string{"203.0.113.0/24"}, []string{"lets in [203.0.113.0/24]",
			"skipReachabilityCheck"}},
		"no entry":    {unauthorized, nil, []string{arn + ", who has no access entry", "cluster.access"}},
		"no policy":   {&notAllowed{}, nil, []string{"does not give " + arn + " every right", "policy: cluster-admin"}},
		"other error": {errors.New("odd"), nil, []string{"odd"}},
	} {
		_, _, err := entering(t, c.answer)
		if err == nil {
			t.Fatalf("%s: it was let in", name)
		}
		err = refused(err, "https://api.example", arn, c.open)
		for _, want := range append(c.says, "https://api.example", "run pulumi up again") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %q in: %v", name, want, err)
			}
		}
	}
}
