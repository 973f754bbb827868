package aws

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

const tQueue = "aws:sqs/queue:Queue"

var queueRow = resourceRow{
	typ: tQueue,
	inputs: []string{
		"contentBasedDeduplication", "deduplicationScope", "delaySeconds", "fifoQueue", "fifoThroughputLimit",
		"kmsDataKeyReusePeriodSeconds", "kmsMasterKeyId", "maxMessageSize", "messageRetentionSeconds", "name",
		"namePrefix", "policy", "receiveWaitTimeSeconds", "redriveAllowPolicy", "redrivePolicy",
		"sqsManagedSseEnabled", "visibilityTimeoutSeconds",
	},
	replaces: []string{"name", "namePrefix", "fifoQueue"},
	json:     []string{"policy", "redrivePolicy", "redriveAllowPolicy"},
	tagged:   true,
	name: naming{
		property: "name",
		prefix:   "namePrefix",
		auto:     true,
		min:      1,
		max:      80,
		pattern:  regexp.MustCompile(`^[a-zA-Z0-9_-]+(\.fifo)?$`),
		says:     "letters, digits, - and _",
	},
	ranges: map[string]span{
		"messageRetentionSeconds":      {60, 1209600},
		"visibilityTimeoutSeconds":     {0, 43200},
		"delaySeconds":                 {0, 900},
		"receiveWaitTimeSeconds":       {0, 20},
		"maxMessageSize":               {1024, 1048576},
		"kmsDataKeyReusePeriodSeconds": {60, 86400},
	},
	defaults: obj{
		"messageRetentionSeconds":      345600,
		"visibilityTimeoutSeconds":     30,
		"delaySeconds":                 0,
		"receiveWaitTimeSeconds":       0,
		"maxMessageSize":               262144,
		"kmsDataKeyReusePeriodSeconds": 300,
		"fifoQueue":                    false,
	},
	refs: []reference{
		{
			path:   "kmsMasterKeyId",
			typ:    tKey,
			onGone: dangles,
		}, {path: "kmsMasterKeyId", typ: tKey, by: "arn", onGone: dangles},
	},
	id:       "https://sqs.{region}.{dns}/{account}/{name}",
	arn:      "arn:{partition}:sqs:{region}:{account}:{name}",
	computed: map[string]string{"url": "{id}"},
	exists:   "QueueAlreadyExists: A queue named {name} already exists.",
	check:    checkQueue,
	onCreate: createQueue,
	onUpdate: func(c *call) error { return queuePolicy(c, str(c.in, "policy")) },
}

func checkQueue(in obj, fail func(string, string)) {
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
	fifo := truth(in, "fifoQueue")
	if name := str(in, "name"); name != "" && fifo != strings.HasSuffix(name, ".fifo") {
		fail("name", "the name of a FIFO queue ends with .fifo, and no other name does")
	}
	for _, key := range []string{"contentBasedDeduplication", "deduplicationScope", "fifoThroughputLimit"} {
		if v := in[key]; !fifo && v != nil && v != false && !isUnknown(v) {
			fail(key, "can only be set for a FIFO queue")
		}
	}
	if truth(in, "sqsManagedSseEnabled") && has(in, "kmsMasterKeyId") {
		fail("kmsMasterKeyId", "conflicts with sqsManagedSseEnabled: You can use one type of server-side "+
			"encryption (SSE) at one time.")
	}
}

func createQueue(c *call) error {
	if !has(c.in, "sqsManagedSseEnabled") {
		c.set("sqsManagedSseEnabled", !has(c.in, "kmsMasterKeyId"))
	}
	return queuePolicy(c, str(c.in, "policy"))
}

var queuePolicyRow = resourceRow{
	typ:      "aws:sqs/queuePolicy:QueuePolicy",
	inputs:   []string{"policy", "queueUrl"},
	required: []string{"policy", "queueUrl"},
	replaces: []string{"queueUrl"},
	json:     []string{"policy"},
	id:       "{queueUrl}",
	upsert:   true,
	refs: []reference{{
		path:   "queueUrl",
		typ:    tQueue,
		gone:   "AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist.",
		onGone: cascades,
	}},
	onCreate: setQueuePolicy,
	onUpdate: setQueuePolicy,
	onDelete: deleteQueuePolicy,
}

func deleteQueuePolicy(c *call) error {
	if queue := c.s.Get(tQueue, str(c.in, "queueUrl")); queue != nil {
		delete(queue.Outputs, "policy")
	}
	return nil
}

func setQueuePolicy(c *call) error {
	if err := queuePolicy(c, str(c.in, "policy")); err != nil {
		return err
	}
	c.s.Get(tQueue, str(c.in, "queueUrl")).Outputs["policy"] = c.in["policy"]
	return nil
}

// queuePolicy reads a queue's policy. SQS says no more than that it is invalid; the reason is ours.
func queuePolicy(c *call, document string) error {
	if document == "" {
		return nil
	}
	statements, err := parsePolicy(document, resourcePolicy, c.s.Partition)
	if err == nil {
		err = principalsExist(c.s, statements)
	}
	if err != nil {
		return fmt.Errorf("InvalidAttributeValue: Invalid value for the parameter Policy. (%w)", err)
	}
	for _, st := range statements {
		if len(st.resources) == 0 && len(st.notResources) == 0 {
			return fmt.Errorf("InvalidAttributeValue: Invalid value for the parameter Policy. (a statement without " +
				"Resource)")
		}
	}
	return nil
}

// queueNamed finds a queue by its name.
func queueNamed(s *world.State, name string) *world.Resource { return s.Find(tQueue, "name", name) }
