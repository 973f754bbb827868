package aws

import (
	"fmt"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

var groupTagRow = resourceRow{
	typ:      "aws:autoscaling/tag:Tag",
	inputs:   []string{"autoscalingGroupName", "tag"},
	required: []string{"autoscalingGroupName", "tag"},
	replaces: []string{"autoscalingGroupName", "tag.key"},
	upsert:   true,
	id:       "{autoscalingGroupName},{key}",
	check:    checkGroupTag,
	derive:   tagKey,
	onCreate: func(c *call) error { return tagGroup(c, false) },
	onUpdate: func(c *call) error { return tagGroup(c, false) },
	onDelete: func(c *call) error { return tagGroup(c, true) },
}

func checkGroupTag(in obj, fail func(string, string)) {
	for _, k := range []string{"key", "value", "propagateAtLaunch"} {
		if tag, ok := in["tag"].(obj); ok && !has(tag, k) {
			fail("tag."+k, "required and missing")
		}
	}
	if key := str(in, "tag.key"); key != "" {
		verifyTags("tag", obj{key: one(in, "tag.value")}, fail)
	}
}

func tagGroup(c *call, remove bool) error {
	name, key := str(c.in, "autoscalingGroupName"), str(c.in, "tag.key")
	g := c.s.Groups[name]
	if g == nil && remove {
		return nil // the tags went with the group
	}
	if g == nil {
		return fmt.Errorf("ValidationError: AutoScalingGroup name not found - null (%s)", name)
	}
	if remove {
		delete(g.Tags, key)
		return nil
	}
	if _, there := g.Tags[key]; !there && len(g.Tags) >= maxTags {
		return fmt.Errorf("LimitExceeded: The number of tags on Auto Scaling group %s exceeds the limit of %d", name,
			maxTags)
	}
	if strings.HasPrefix(key, "eks:") {
		return fmt.Errorf("ValidationError: tag %s is managed by EKS", key)
	}
	g.Tags[key] = str(c.in, "tag.value")
	return nil
}

func tagKey(_ *world.State, in obj) (obj, error) { return obj{"key": str(in, "tag.key")}, nil }
