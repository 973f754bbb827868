package lifecycle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/run"
)

const region = "us-west-2"

// filled gives an environment what every one needs and few tests are about.
func filled(env config.Environment) config.Environment {
	if reflect.ValueOf(env.Network).IsZero() {
		env.Network.Zones = []string{"us-west-2a", "us-west-2b"}
	}
	if reflect.ValueOf(env.Cluster).IsZero() {
		env.Cluster.PublicAccessCIDRs = []string{"203.0.113.0/24"}
	}
	if env.Tags == nil {
		env.Tags = map[string]string{"environment": "test"}
	}
	return env
}

func fixed(name, instanceType string, nodes int) config.Pool {
	return config.Pool{
		Name:          name,
		Scaler:        pool.Fixed,
		InstanceTypes: []string{instanceType},
		NodeCount:     &nodes,
	}
}

func autoscaled(name, instanceType string, most int) config.Pool {
	return config.Pool{
		Name:          name,
		Scaler:        pool.ClusterAutoscaler,
		InstanceTypes: []string{instanceType},
		MaxNodeCount:  &most,
	}
}

// provisioned is a pool of Karpenter or Auto Mode.
func provisioned(name string, scaler pool.Scaler, instanceType string, most int,
	bought ...pool.CapacityType) config.Pool {
	return config.Pool{
		Name:          name,
		Scaler:        scaler,
		InstanceTypes: []string{instanceType},
		CapacityTypes: bought,
		MaxNodeCount:  &most,
	}
}

// object is the environment as it stands in a stack file.
func object(t *testing.T, env config.Environment) map[string]any {
	t.Helper()
	text, err := json.Marshal(env)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if builtIn := env.AutoMode.BuiltInPools; builtIn != nil { // an empty list is a choice, which JSON drops
		out["autoMode"].(map[string]any)["builtInPools"] = builtIn
	}
	return out
}

// environmentOf reads the object back, as the program does.
func environmentOf(t *testing.T, given map[string]any) config.Environment {
	t.Helper()
	text, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	env, problems := config.Decode(string(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return env
}

// stackFile is the text of a stack file with the environment.
func stackFile(t *testing.T, env map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"config": map[string]any{"aws:region": region, "headroom:environment": env},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shipped is the text of a stack file of the project.
func shipped(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Pulumi."+name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// startShipped prepares a stack from a stack file of the project, as it is.
func startShipped(t *testing.T, name string, options ...func(*run.Options)) *environment {
	t.Helper()
	t.Parallel()
	text := shipped(t, name)
	var file struct{ Config map[string]any }
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	given, _ := file.Config["headroom:environment"].(map[string]any)
	e := open(t, text, options...)
	e.config = environmentOf(t, given)
	return e
}

// change rewrites the configuration between updates.
func (e *environment) change(edit func(*config.Environment)) {
	e.t.Helper()
	edit(&e.config)
	e.configure(object(e.t, e.config))
}

// changePool rewrites one pool of the configuration.
func (e *environment) changePool(name string, edit func(*config.Pool)) {
	e.t.Helper()
	e.change(func(env *config.Environment) {
		for i := range env.Pools {
			if env.Pools[i].Name == name {
				edit(&env.Pools[i])
				return
			}
		}
		e.t.Fatalf("no pool %s is configured", name)
	})
}

// trying changes the configuration while f runs, and changes it back.
func (e *environment) trying(edit func(*config.Environment), f func()) {
	e.t.Helper()
	before := object(e.t, e.config)
	e.change(edit)
	f()
	e.config = environmentOf(e.t, before)
	e.configure(before)
}

// configure writes an object into the stack file, whether the program takes it or not.
func (e *environment) configure(env map[string]any) {
	e.t.Helper()
	e.write(e.file, stackFile(e.t, env))
	if err := e.Use(testContext, e.program); err != nil { // reads the project's files again
		e.t.Fatal(err)
	}
}
