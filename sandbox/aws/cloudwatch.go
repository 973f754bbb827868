package aws

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

const (
	tLogGroup = world.LogGroupType
	tRule     = "aws:cloudwatch/eventRule:EventRule"
	tTarget   = "aws:cloudwatch/eventTarget:EventTarget"
)

var retentions = []string{
	"0", "1", "3", "5", "7", "14", "30", "60", "90", "120", "150", "180", "365", "400", "545", "731", "1096", "1827",
	"2192", "2557", "2922", "3288", "3653",
}

var logGroupRow = resourceRow{
	typ:      tLogGroup,
	inputs:   []string{"kmsKeyId", "logGroupClass", "name", "namePrefix", "retentionInDays", "skipDestroy"},
	replaces: []string{"name", "namePrefix", "logGroupClass"},
	tagged:   true,
	name: naming{
		property: "name",
		prefix:   "namePrefix",
		auto:     true,
		min:      1,
		max:      512,
		pattern:  regexp.MustCompile(`^[.\-_/#A-Za-z0-9]+$`),
		says:     "letters, digits and .-_/#",
	},
	enums: map[string][]string{
		"logGroupClass": {"STANDARD", "INFREQUENT_ACCESS", "DELIVERY"},
	},
	defaults:    obj{"retentionInDays": 0, "skipDestroy": false, "logGroupClass": "STANDARD"},
	id:          "{name}",
	arn:         "arn:{partition}:logs:{region}:{account}:log-group:{name}",
	exists:      "ResourceAlreadyExistsException: The specified log group already exists ({name})",
	refs:        []reference{{path: "kmsKeyId", typ: tKey, by: "arn", onGone: dangles}},
	check:       checkLogGroup,
	onCreate:    logKey,
	onUpdate:    logKey,
	afterDelete: recreateLogGroup,
}

func checkLogGroup(in obj, fail func(string, string)) {
	if days, given := in["retentionInDays"].(float64); given &&
		!slices.Contains(retentions, text(days)) {
		fail("retentionInDays", fmt.Sprintf("expected retentionInDays to be one of [%s], got %v",
			strings.Join(retentions, ", "), days))
	}
}

func recreateLogGroup(c *call) {
	// A control plane that still logs makes its group again, without retention, and nobody deletes that one.
	name := strings.TrimSuffix(strings.TrimPrefix(c.res.ID, "/aws/eks/"), "/cluster")
	if cluster := c.s.Get(tCluster, name); cluster != nil && c.res.ID == "/aws/eks/"+name+"/cluster" {
		logsOf(c.s, name, cluster.Outputs)
	}
}

var eventRuleRow = resourceRow{
	typ: tRule,
	inputs: []string{
		"description", "eventBusName", "eventPattern", "forceDestroy", "isEnabled", "name", "namePrefix", "roleArn",
		"scheduleExpression", "state",
	},
	replaces: []string{"name", "namePrefix", "eventBusName"},
	json:     []string{"eventPattern"},
	tagged:   true,
	name: naming{
		property: "name",
		prefix:   "namePrefix",
		auto:     true,
		min:      1,
		max:      64,
		pattern:  regexp.MustCompile(`^[.\-_A-Za-z0-9]+$`),
		says:     "letters, digits and .-_",
	},
	enums: map[string][]string{
		"state": {"ENABLED", "DISABLED", "ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS"},
	},
	defaults: obj{"eventBusName": "default", "state": "ENABLED", "forceDestroy": false},
	id:       "{name}",
	arn:      "arn:{partition}:events:{region}:{account}:rule/{name}",
	exists:   "ResourceAlreadyExistsException: Rule {name} already exists.",
	inUse:    "ValidationException: Rule can't be deleted since it has targets.",
	check:    checkEventRule,
	onCreate: checkPattern,
	onUpdate: checkPattern,
}

// schedule of a rule. https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html
var schedule = regexp.MustCompile(`^(rate\(\d+ (minute|hour|day)s?\)|cron\(\S+( \S+){5}\))$`)

func checkEventRule(in obj, fail func(string, string)) {
	if !has(in, "eventPattern") && !has(in, "scheduleExpression") {
		fail("eventPattern", "one of eventPattern, scheduleExpression must be specified")
	}
	if s := str(in, "scheduleExpression"); s != "" && !schedule.MatchString(s) {
		fail("scheduleExpression", "ValidationException: Parameter ScheduleExpression is not valid.")
	}
}

var eventTargetRow = resourceRow{
	typ: tTarget,
	inputs: []string{
		"arn", "deadLetterConfig", "eventBusName", "forceDestroy", "input", "inputPath", "inputTransformer",
		"retryPolicy", "roleArn", "rule", "sqsTarget", "targetId",
	},
	required: []string{"arn", "rule"},
	replaces: []string{"rule", "targetId", "eventBusName"},
	upsert:   true,
	name: naming{
		property: "targetId",
		auto:     true,
		min:      1,
		max:      64,
		pattern:  regexp.MustCompile(`^[.\-_A-Za-z0-9]+$`),
		says:     "letters, digits and .-_",
	},
	refs: []reference{
		{
			path: "rule",
			typ:  tRule,
			gone: "ResourceNotFoundException: Rule {value} does not exist on EventBus default.",
		},
		{path: "arn", typ: tQueue, by: "arn", onGone: dangles},
	},
	id:       "{rule}-{targetId}",
	check:    checkEventTarget,
	onCreate: createEventTarget,
}

func checkEventTarget(in obj, fail func(string, string)) {
	given := 0
	for _, k := range []string{"input", "inputPath", "inputTransformer"} {
		if has(in, k) {
			given++
		}
	}
	if given > 1 {
		fail("input", "only one of input, inputPath, inputTransformer can be set")
	}
}

func createEventTarget(c *call) error {
	n := 0
	for _, r := range c.s.OfType(tTarget) {
		if r.Inputs["rule"] == c.in["rule"] {
			n++
		}
	}
	if n >= 5 {
		return fmt.Errorf("LimitExceededException: The requested resource exceeds the maximum number of " +
			"targets allowed (5)")
	}
	if !strings.HasPrefix(str(c.in, "arn"), "arn:"+c.s.Partition+":") {
		return fmt.Errorf("ValidationException: Parameter %s is not valid. Reason: Provided Arn is not in "+
			"correct format.", str(c.in, "arn"))
	}
	return nil
}

// logKey: CloudWatch Logs takes a key only when its policy lets the logs service use it.
func logKey(c *call) error {
	arn := str(c.in, "kmsKeyId")
	if arn == "" {
		return nil
	}
	key := keyOf(c.s, arn)
	if key == nil || !usableBy(key, c.s.Partition, "kms:Encrypt", "logs."+c.s.Region+"."+dnsSuffix(c.s.Partition),
		"logs."+dnsSuffix(c.s.Partition)) {
		return fmt.Errorf("AccessDeniedException: The specified KMS key does not exist or is not allowed to be used "+
			"with Arn '%s'", str(c.out, "arn"))
	}
	return nil
}

// checkPattern reads an event pattern as EventBridge does: fields hold fields or lists of values.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern.html
func checkPattern(c *call) error {
	pattern := str(c.in, "eventPattern")
	if pattern == "" {
		return nil
	}
	var fields obj
	if err := json.Unmarshal([]byte(pattern), &fields); err != nil {
		return fmt.Errorf("InvalidEventPatternException: Event pattern is not valid. Reason: not a JSON object")
	}
	if path := badField(fields); path != "" || len(fields) == 0 {
		return fmt.Errorf("InvalidEventPatternException: Event pattern is not valid. Reason: \"%s\" must be an "+
			"object or a non-empty array", path)
	}
	return nil
}

func badField(fields obj) string {
	for _, name := range sorted(fields) {
		switch v := fields[name].(type) {
		case []any:
			if len(v) == 0 {
				return name
			}
		case obj:
			if len(v) == 0 {
				return name
			}
			if path := badField(v); path != "" {
				return name + "." + path
			}
		default:
			return name
		}
	}
	return ""
}
