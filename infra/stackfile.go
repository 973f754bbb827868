package infra

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/headroom-eks/headroom/infra/provider"
	"github.com/headroom-eks/headroom/problem"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// environmentKey of the stack file holds everything but the settings of the AWS provider.
const environmentKey = "headroom:environment"

// load reads the stack file and reports everything that is wrong with it at once.
func load(ctx *pulumi.Context) (config.Environment, provider.Settings, error) {
	all, err := stackConfig(ctx)
	if err != nil {
		return config.Environment{}, provider.Settings{}, err
	}
	settings, problems := provider.Read(all, ctx.IsConfigSecret)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		foreign(key, &problems)
	}
	env := environment(ctx, all, settings, &problems)
	if err := problems.Err(); err != nil {
		return env, settings, fmt.Errorf("the stack's configuration has %w", err)
	}
	return env, settings, nil
}

// environment of the stack file, with its defaults, and with the default tags among its own.
func environment(ctx *pulumi.Context, all map[string]string, s provider.Settings,
	problems *problem.List) config.Environment {
	text, found := all[environmentKey]
	if !found {
		problems.Add(environmentKey, "is not set", nil, "start from a copy of Pulumi.dev.yaml")
		return config.Environment{}
	}
	if ctx.IsConfigSecret(environmentKey) {
		problems.Add(environmentKey,
			"holds a secret, which would be readable in the state and in AWS; Pulumi does not "+
				"say under which key", nil, "look for `secure:` in the stack file and set that key without --secret: "+
				"nothing in this object is made to be kept secret")
	}
	env, wrong := config.Decode(text)
	problems.Join(wrong)
	env = env.WithDefaults(ctx.Stack())
	own := env.Tags
	env.Tags = s.MergedTags(own)
	problems.Join(s.Located(plan.Check(env), own))
	problems.Join(s.CheckTags(env.Tags))
	return env
}

// foreign reports keys that nothing reads: a setting that has no effect is a promise without cover.
func foreign(key string, problems *problem.List) {
	switch namespace, name, _ := strings.Cut(key, ":"); {
	case namespace == "headroom" && key != environmentKey:
		problems.Add(key, "is not read", nil, fmt.Sprintf("write %s inside of %s, or remove it", name, environmentKey))
	case slices.Contains([]string{"eks", "kubernetes", "random"}, namespace):
		problems.Add(key, "is not read: this program configures that provider itself", nil, "remove it")
	}
}

// stackConfig is everything in the stack file, by its full key. The SDK answers for a key that one knows, and has no
// list of them, without which a misspelt key would be ignored. It keeps them where both of its hosts put them, and a
// program of the Automation API has no environment to read them from.
func stackConfig(ctx *pulumi.Context) (map[string]string, error) {
	info := field(field(reflect.ValueOf(ctx), "state"), "info")
	kept := field(info, "Config")
	if kept.Kind() != reflect.Map {
		return nil, fmt.Errorf("this version of Pulumi's SDK keeps the configuration where stackConfig does not look " +
			"for it")
	}
	all := map[string]string{}
	for _, key := range kept.MapKeys() {
		all[key.String()] = kept.MapIndex(key).String()
	}
	return all, nil
}

// field of a struct, or of what a pointer to one points to; the zero Value where there is none.
func field(v reflect.Value, name string) reflect.Value {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}
