package aws

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

const tParameter = "aws:ssm/parameter:Parameter"

var parameterRow = resourceRow{
	typ: tParameter,
	inputs: []string{
		"allowedPattern", "arn", "dataType", "description", "insecureValue", "keyId", "name", "overwrite", "tier",
		"type", "value",
	},
	required: []string{"type"},
	replaces: []string{"name"},
	tagged:   true,
	name: naming{
		property: "name",
		auto:     true,
		min:      1,
		max:      1011,
		pattern:  regexp.MustCompile(`^[a-zA-Z0-9_.\-/]+$`),
		says:     "letters, digits and _.-/",
	},
	enums: map[string][]string{
		"type": {"String", "StringList", "SecureString"},
		"tier": {"Standard", "Advanced", "Intelligent-Tiering"},
	},
	defaults: obj{"tier": "Standard", "dataType": "text"},
	id:       "{name}",
	arn:      "arn:{partition}:ssm:{region}:{account}:parameter/{path}",
	exists: "ParameterAlreadyExists: The parameter already exists. To overwrite this value, set the overwrite " +
		"option in the request to true.",
	derive:   deriveParameter,
	check:    checkParameter,
	onCreate: putParameter,
	onUpdate: putParameter,
	changes:  []string{"version"},
}

func deriveParameter(_ *world.State, in obj) (obj, error) {
	return obj{"path": strings.TrimPrefix(str(in, "name"), "/")}, nil
}

func checkParameter(in obj, fail func(string, string)) {
	name := strings.ToLower(strings.TrimPrefix(str(in, "name"), "/"))
	if strings.HasPrefix(name, "aws") || strings.HasPrefix(name, "ssm") {
		fail("name", "ValidationException: Parameter name: can't be prefixed with \"aws\" or \"ssm\" "+
			"(case-insensitive)")
	}
	// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
	full := str(in, "name")
	if levels := strings.Count(full, "/"); strings.Contains(full, "//") || levels > 15 ||
		levels > 0 && !strings.HasPrefix(full, "/") {
		fail("name", "ValidationException: a hierarchy begins with / and has at most 15 levels, none empty")
	}
	if has(in, "value") == has(in, "insecureValue") {
		fail("value", "one of value, insecureValue must be set")
	}
	if v, ok := in["value"].(string); ok && v == "" {
		fail("value", "ValidationException: the value must have at least 1 character")
	}
}

func putParameter(c *call) error {
	value := str(c.in, "value") + str(c.in, "insecureValue")
	limit := map[string]int{"Standard": 4096}[str(c.out, "tier")]
	if limit == 0 {
		limit = 8192
	}
	if len(value) > limit {
		return fmt.Errorf("ValidationException: %s tier parameters support a maximum parameter value of %d "+
			"characters, this has %d",
			str(c.out, "tier"), limit, len(value))
	}
	c.set("value", value)
	version := 1
	if c.res.Outputs != nil {
		version = num(c.res.Outputs, "version") + 1
	}
	c.set("version", version)
	return nil
}
