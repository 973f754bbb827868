package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/components/cluster"
	"pgregory.net/rapid"
)

func TestVersionMovesAtMostOneMinorUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live, step := rapid.IntRange(20, 60).Draw(t, "live"), rapid.IntRange(-3, 4).Draw(t, "step")
		problems := cluster.CheckVersion("version", fmt.Sprintf("1.%d", live), fmt.Sprintf("1.%d", live+step))
		if allowed := step == 0 || step == 1; allowed != (problems.Err() == nil) {
			t.Errorf("step %d from 1.%d: %v", step, live, problems.Err())
		}
	})
}

func TestVersionOfNewClusterNeedsNoLiveOne(t *testing.T) {
	if problems := cluster.CheckVersion("version", "", "1.36"); problems.Err() != nil {
		t.Error(problems.Err())
	}
}

func TestMalformedVersionIsRefused(t *testing.T) {
	for _, v := range [][2]string{{"", ""}, {"", "latest"}, {"", "1.36.2"}, {"", "1.99999999999999999999x"},
		{"1.3x", "1.36"}, {"1.36", "1.036"}} {
		if problems := cluster.CheckVersion("version", v[0], v[1]); problems.Err() == nil {
			t.Errorf("live %q, wanted %q: accepted", v[0], v[1])
		}
	}
}

func TestRefusedVersionSaysWhereToGo(t *testing.T) {
	problems := cluster.CheckVersion("version", "1.34", "1.36")
	if err := problems.Err(); err == nil || !strings.Contains(err.Error(), "go to 1.35 first") {
		t.Errorf("error %v", err)
	}
}

// Field fault BR-89: the kubeconfig depends on four values, and gets its token when it is used.
func TestKubeconfigAsksForATokenWhenUsed(t *testing.T) {
	text, err := cluster.Kubeconfig("headroom-dev", "https://example", "Q0E=", "us-west-2", cluster.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Current  string `json:"current-context"`
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CA     string `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Exec struct {
					Command string   `json:"command"`
					Args    []string `json:"args"`
				} `json:"exec"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	got := []string{read.Current, read.Clusters[0].Cluster.Server, read.Clusters[0].Cluster.CA,
		read.Users[0].User.Exec.Command,
		strings.Join(read.Users[0].User.Exec.Args, " ")}
	want := []string{"headroom-dev", "https://example", "Q0E=", "aws",
		"eks get-token --region us-west-2 --cluster-name headroom-dev --output json"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

// FR-05.
func TestKubeconfigOfACallerAsksAsTheCaller(t *testing.T) {
	text, err := cluster.Kubeconfig("dev", "https://example", "Q0E=", "us-west-2", cluster.Caller{
		Arguments:   []string{"--profile", "deploy"},
		Environment: map[string]string{"B": "2", "A": ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"--output","json","--profile","deploy"]`,
		`"env":[{"name":"A","value":""},{"name":"B","value":"2"}]`} {
		if !strings.Contains(text, want) {
			t.Errorf("want %s in %s", want, text)
		}
	}
}

// Field fault BR-93.
func TestKubeconfigOfAnEmptyAnswerIsRefused(t *testing.T) {
	for i := range 4 {
		v := []string{"n", "https://e", "ca", "r"}
		v[i] = ""
		if text, err := cluster.Kubeconfig(v[0], v[1], v[2], v[3], cluster.Caller{}); err == nil {
			t.Errorf("%q: accepted as %s", v, text)
		}
	}
}
