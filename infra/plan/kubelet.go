package plan

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/problem"
)

// checkKubelet holds the keys to the letter, which Go's decoder of JSON does not, and their values to what the node
// class takes.
func checkKubelet(at string, given map[string]any) (problems problem.List) {
	var known []string
	for settings, i := reflect.TypeFor[nodepool.Kubelet](), 0; i < settings.NumField(); i++ {
		key, _, _ := strings.Cut(settings.Field(i).Tag.Get("json"), ",")
		known = append(known, key)
	}
	slices.Sort(known)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, key) {
			problems.Add(at+"."+key, "is not a known key", nil, "use one of "+strings.Join(known, ", "))
			continue
		}
		_, err := kubeletSettings(map[string]any{key: given[key]})
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.As(err, &wrong):
			problems.Add(at+"."+key, "found a "+wrong.Value, nil, "write "+kinds[wrong.Type.Kind()])
		case err != nil:
			problems.Add(at+"."+key, err.Error(), nil, "see docs/karpenter.md")
		}
	}
	if problems.Err() != nil {
		return problems
	}
	settings, err := kubeletSettings(given)
	if err != nil {
		problems.Add(at, err.Error(), nil, "see docs/karpenter.md")
	}
	problems.Join(nodepool.ValidateKubelet(at, settings))
	return problems
}

// kinds in the words of a reader of YAML.
var kinds = map[reflect.Kind]string{
	reflect.Int:    "a whole number, without quotes",
	reflect.Bool:   "true or false, without quotes",
	reflect.Map:    "an object (keys and values)",
	reflect.String: "text, in quotes",
}
