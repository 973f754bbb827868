// Package random answers as the random provider, for the one resource this project uses: RandomString.
//
// Values are new each time a resource is made, as in the real provider, and live in the stack's state only.
package random

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/headroom-eks/headroom/sandbox/plugin"
)

const stringType = "random:index/randomString:RandomString"

// Character sets of the real provider.
// https://registry.terraform.io/providers/hashicorp/random/latest/docs/resources/string
const (
	lower, upper, numeric = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	special               = "!@#$%&*()-_=+[]{}<>:?"
)

// Package is the provider package to serve.
func Package(version string) plugin.Package {
	return plugin.Package{Name: "random", Version: version, Backend: backend{}}
}

type backend struct{}

func known(r plugin.Request) error {
	if r.Type != stringType {
		return fmt.Errorf("the sandbox's random provider knows %s only, not %s", stringType, r.Type)
	}
	return nil
}

func (backend) Check(r plugin.Request) (resource.PropertyMap, []plugin.CheckFailure, error) {
	if err := known(r); err != nil {
		return nil, nil, err
	}
	if n := r.Inputs["length"]; !n.IsComputed() && (!n.IsNumber() || n.NumberValue() < 1) {
		return r.Inputs, []plugin.CheckFailure{{Property: "length", Reason: "must be a number of at least 1"}}, nil
	}
	return r.Inputs, nil, nil
}

// Diff replaces on every change: the value depends on all inputs.
func (backend) Diff(r plugin.Request) (plugin.Diff, error) {
	changed := plugin.Differences(r.OldInputs, r.Inputs)
	return plugin.Diff{Changed: changed, Replaces: changed}, known(r)
}

func (backend) Create(r plugin.Request) (string, resource.PropertyMap, error) {
	if err := known(r); err != nil {
		return "", nil, err
	}
	outputs := r.Inputs.Copy()
	if r.Preview {
		outputs["result"] = resource.MakeComputed(resource.NewProperty(""))
		return "", outputs, nil
	}
	value, err := generate(r.Inputs)
	outputs["result"] = resource.NewProperty(value)
	return value, outputs, err
}

func (backend) Read(r plugin.Request) (inputs, outputs resource.PropertyMap, found bool, err error) {
	return r.OldInputs, r.OldOutputs, true, known(r)
}

func (backend) Update(r plugin.Request) (resource.PropertyMap, error) {
	return nil, fmt.Errorf("%s is never updated in place", stringType)
}

func (backend) Delete(r plugin.Request) error { return known(r) }

func (backend) Invoke(token string, _ resource.PropertyMap) (resource.PropertyMap, error) {
	return nil, fmt.Errorf("the sandbox's random provider does not know the call %q", token)
}

// generate draws the minimum of every set first, then the rest from all sets that are on, and shuffles.
func generate(inputs resource.PropertyMap) (string, error) {
	length := int(inputs["length"].NumberValue())
	var out []byte
	pool := ""
	for _, set := range []struct{ on, least, chars string }{
		{"lower", "minLower", lower}, {"upper", "minUpper", upper}, {"numeric", "minNumeric", numeric},
		{"special", "minSpecial", chosen(inputs)},
	} {
		if on := inputs[resource.PropertyKey(set.on)]; on.IsBool() && !on.BoolValue() {
			continue
		}
		pool += set.chars
		if least := inputs[resource.PropertyKey(set.least)]; least.IsNumber() {
			drawn, err := draw(set.chars, int(least.NumberValue()))
			if err != nil {
				return "", err
			}
			out = append(out, drawn...)
		}
	}
	if len(out) > length {
		return "", fmt.Errorf("length %d is less than the sum of the minimums, %d", length, len(out))
	}
	rest, err := draw(pool, length-len(out))
	if err != nil {
		return "", err
	}
	out = append(out, rest...)
	for i := len(out) - 1; i > 0; i-- {
		j, err := below(i + 1)
		if err != nil {
			return "", err
		}
		out[i], out[j] = out[j], out[i]
	}
	return string(out), nil
}

func chosen(inputs resource.PropertyMap) string {
	if own := inputs["overrideSpecial"]; own.IsString() && own.StringValue() != "" {
		return own.StringValue()
	}
	return special
}

func draw(chars string, n int) ([]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	if chars == "" {
		return nil, fmt.Errorf("no characters to choose from: every set is switched off")
	}
	out := slices.Grow([]byte(nil), n)
	for range n {
		i, err := below(len(chars))
		if err != nil {
			return nil, err
		}
		out = append(out, chars[i])
	}
	return out, nil
}

func below(n int) (int, error) {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		return 0, err
	}
	return int(i.Int64()), nil
}
