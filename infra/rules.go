package infra

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/karpenter"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/util/validation"
)

// validate reports everything that can be said of the configuration before AWS is asked anything: the configuration's
// own rules, and those of the components that it would use.
func validate(env config.Environment) problem.List {
	problems := env.Validate()
	if !env.Cluster.HasVersion() { // said by now; what hangs on the version would only say it again
		env.Cluster.KubernetesVersion = config.DefaultKubernetesVersion
	}
	problems.Join(network.ValidateEndpoints("network.interfaceEndpoints", env.Network.InterfaceEndpoints))
	var claimants []plan.Claimant
	if env.General != nil {
		claimants = append(claimants, plan.Claimant{Name: generalPool, Scaler: env.General.Scaler})
	}
	if g := env.General; g != nil && g.Scaler == pool.AutoMode {
		problems.Join(validateAutoPool("general", nodepool.Spec{
			Name: generalPool, ExpireAfter: g.ExpireAfter, General: &nodepool.General{VCPUs: 1, MemoryGiB: 1},
		}, len(g.StartupTaints) > 0))
	}
	for i, p := range env.Pools {
		claimants = append(claimants, plan.Claimant{Name: p.Name, Scaler: p.Scaler, Taints: p.AllTaints()})
		validateScaler(fmt.Sprintf("pools[%d] %q", i, p.Name), p, env, &problems)
	}
	problems.Join(plan.ValidateOverlap("pools", claimants, env.PodsSelectPool))

	if env.Uses(pool.Karpenter) {
		problems.Join(karpenter.ValidateVersion("karpenter.version", env.Karpenter.Version,
			env.Cluster.KubernetesVersion))
		if env.Network.NATGateways == "none" && !env.Karpenter.InstanceProfile {
			problems.Addf("karpenter.instanceProfile", "is false, and with network.natGateways none the controller "+
				"cannot reach IAM, "+
				"which has no endpoint, to make one itself; set it to true") // field fault BR-48
		}
	}
	if env.Uses(pool.ClusterAutoscaler) {
		_, found := clusterautoscaler.ReleaseFor("cluster.kubernetesVersion", env.Cluster.KubernetesVersion,
			clusterautoscaler.Release{})
		problems.Join(found)
	}
	if env.Uses(pool.AutoMode) && env.System.Tainted {
		problems.Addf("system", "Auto Mode has no system group of ours; remove system.tainted")
	}
	return problems
}

func validateScaler(at string, p config.Pool, env config.Environment, problems *problem.List) {
	switch p.Scaler {
	case pool.Karpenter:
		problems.Join(validateKubelet(at+".kubelet", p.Kubelet))
		if p.DeviceMode == pool.DRA && !p.Static {
			problems.Join(nodepool.ValidateDRA(at, env.Karpenter.Version, env.Cluster.KubernetesVersion,
				env.Karpenter.EnableDRA))
		}
	case pool.AutoMode:
		problems.Join(automode.ValidateDeviceMode(at, p.DeviceMode, env.Cluster.KubernetesVersion))
		anyGPU := &nodepool.Advertised{
			InstanceTypes: []string{"g6.xlarge"},
			DeviceMode:    pool.Plugin,
			VCPUs:         1,
			GPUs:          1,
			MaxNodeCount:  1,
		}
		problems.Join(validateAutoPool(at, nodepool.Spec{
			Name:                   p.Name,
			ExpireAfter:            p.ExpireAfter,
			TerminationGracePeriod: p.TerminationGracePeriod,
			Advertised:             anyGPU,
			Taints:                 []pool.Taint{pool.GPUTaint},
		}, len(p.StartupTaints) > 0))
	case pool.ClusterAutoscaler:
		problems.Join(validateTaintKeys(at, p))
		groups := 1
		if p.Spread != "" {
			groups = len(p.Zones)
			if groups == 0 {
				groups = len(env.Network.Zones)
			}
		}
		if p.MinNodeCount != nil {
			problems.Join(clusterautoscaler.ValidateWake(at, p.DeviceMode, *p.MinNodeCount, groups,
				p.AcceptNoWakeFromZero))
		}
	}
}

// validateKubelet holds the keys to the letter, which Go's decoder of JSON does not, and their values to what the node
// class takes.
func validateKubelet(at string, given map[string]any) (problems problem.List) {
	var known []string
	for settings, i := reflect.TypeFor[nodepool.Kubelet](), 0; i < settings.NumField(); i++ {
		key, _, _ := strings.Cut(settings.Field(i).Tag.Get("json"), ",")
		known = append(known, key)
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, key) {
			problems.Addf(at+"."+key, "is not a known key; use one of %s",
				strings.Join(slices.Sorted(slices.Values(known)), ", "))
			continue
		}
		_, err := kubelet(map[string]any{key: given[key]})
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.As(err, &wrong):
			problems.Addf(at+"."+key, "found a %s; write %s", wrong.Value, kinds[wrong.Type.Kind()])
		case err != nil:
			problems.Addf(at+"."+key, "%v", err)
		}
	}
	if problems.Err() != nil {
		return problems
	}
	settings, err := kubelet(given)
	if err != nil {
		problems.Addf(at, "%v", err)
	}
	problems.Join(nodepool.ValidateKubelet(at, settings))
	return problems
}

// kinds in the words of a reader of YAML.
var kinds = map[reflect.Kind]string{
	reflect.Int: "a whole number, without quotes", reflect.Bool: "true or false, without quotes",
	reflect.Map: "an object (keys and values)", reflect.String: "text, in quotes",
}

// validateTaintKeys reports keys with two effects: cluster-autoscaler reads taints from tags of the group, which hold
// one for each key.
func validateTaintKeys(at string, p config.Pool) (problems problem.List) {
	effects := map[string]pool.Effect{pool.GPUTaint.Key: pool.GPUTaint.Effect}
	for i, t := range p.Taints {
		if effect, found := effects[t.Key]; found && effect != t.Effect {
			problems.Addf(fmt.Sprintf("%s.taints[%d] %q", at, i, t.Key), "the key has effect %s too, and with scaler "+
				"%s a key has one; use two keys", effect, p.Scaler)
		}
		effects[t.Key] = t.Effect
	}
	return problems
}

// validateAutoPool reports the name, the lifetime and the startup taints that Auto Mode refuses. The spec has nothing
// else that could be wrong: the configuration's own rules speak of the rest, and of what is no duration.
func validateAutoPool(at string, spec nodepool.Spec, startupTaints bool) (problems problem.List) {
	if startupTaints {
		problems.Join(automode.Refuse(at, automode.StartupTaints))
	}
	for _, d := range []string{spec.ExpireAfter, spec.TerminationGracePeriod} {
		if _, err := time.ParseDuration(d); err != nil && d != "" && d != "Never" {
			return problems
		}
	}
	if len(validation.IsDNS1123Label(spec.Name)) > 0 {
		return problems
	}
	spec.CapacityTypes = []pool.CapacityType{pool.OnDemand}
	problems.Join(automode.ValidatePool(at, automode.Pool{Spec: spec}, config.DefaultKubernetesVersion))
	return problems
}
