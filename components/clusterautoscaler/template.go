package clusterautoscaler

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/pool/label"
	"github.com/headroom-eks/headroom/problem"
)

// Prefixes of the tags from which cluster-autoscaler pictures a node of an empty group.
// https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/aws#auto-discovery-setup
const (
	templatePrefix = "k8s.io/cluster-autoscaler/node-template/"
	labelPrefix    = templatePrefix + "label/"
	taintPrefix    = templatePrefix + "taint/"
	resourcePrefix = templatePrefix + "resources/"
)

// AWS's limits on the tags of an Auto Scaling group, in tags and characters.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
const (
	maxTags       = 50
	maxTagKey     = 128
	maxTagValue   = 256
	maxLabelValue = 63 // of a Kubernetes label
	// eksTags are those EKS adds on its own: eks:cluster-name, eks:nodegroup-name, kubernetes.io/cluster/<cluster> and
	// the two discovery tags.
	eksTags = 5
)

// Template is what a node of a group will be, as its node group declares it: the very labels and taints given there.
type Template struct {
	Labels     map[string]string
	Taints     []pool.Taint
	DeviceMode pool.DeviceMode // of a group with GPUs
	GPUs       int             // of one node
	DiskGiB    int             // root volume of one node
	Nodes      []Node          // of each instance type; the smallest counts
}

// TemplateTags of a group, key -> value.
func TemplateTags(t Template) map[string]string {
	tags := map[string]string{
		resourcePrefix + "ephemeral-storage": strconv.Itoa(ephemeralGiB(t.DiskGiB)) + "Gi",
		resourcePrefix + pool.GPUResource:    strconv.Itoa(t.pluginGPUs()),
	}
	for name, quantity := range allocatable(t.Nodes) {
		tags[resourcePrefix+name] = quantity
	}
	for key, value := range t.Labels {
		tags[labelPrefix+key] = value
	}
	for _, taint := range t.Taints {
		tags[taintPrefix+taint.Key] = taint.Value + ":" + string(taint.Effect)
	}
	return tags
}

// pluginGPUs are the nvidia.com/gpu a node registers. Nodes of a DRA group register none, though cluster-autoscaler
// would take their number from the instance type and wake the group for pods that can never run there.
func (t Template) pluginGPUs() int {
	if t.DeviceMode == pool.DRA {
		return 0
	}
	return t.GPUs
}

// ephemeralGiB is what pods can have of a root volume: the kubelet evicts when a tenth is left, and EKS's AMIs reserve
// 1 GiB. Cluster-autoscaler takes the tag as allocatable. https://awslabs.github.io/amazon-eks-ami/nodeadm/
func ephemeralGiB(diskGiB int) int { return max(0, diskGiB*9/10-1) }

// Accelerator is the value of pool.AcceleratorLabel for a shape: what the nodes of a group whose pods use the device
// plugin carry, for example "nvidia-l4". Empty for a group that must not carry the label.
//
// Cluster-autoscaler holds a node with the label for unready until it registers nvidia.com/gpu. With the device plugin
// that keeps it from adding a second node meanwhile (field fault BR-06). A DRA node never registers one: with the label
// it would never become ready, and enough unready nodes stop all scaling. The exception for DRA in the autoscaler
// exists for GCE alone, see
// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/processors/customresources/gpu_processor.go
func Accelerator(mode pool.DeviceMode, shape pool.Shape) string {
	if shape.GPUs == 0 || mode == pool.DRA {
		return ""
	}
	return acceleratorValue(shape.GPUModel)
}

// acceleratorValue makes a label value of a GPU's name as EC2 gives it, for example "L4" or "H100".
func acceleratorValue(model string) string {
	value := strings.Map(func(r rune) rune {
		if r = unicode.ToLower(r); r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, "nvidia-"+model)
	return strings.TrimRight(value[:min(len(value), maxLabelValue)], "-")
}

// ValidateTemplate reports what AWS would refuse as tags, what tags cannot say, and an accelerator label in the wrong
// place.
func ValidateTemplate(path string, t Template) problem.List {
	problems := label.ValidateTaints(path+".taints", t.Taints)
	keys := map[string]bool{}
	for i, taint := range t.Taints {
		if keys[taint.Key] {
			problems.Add(fmt.Sprintf("%s.taints[%d] %q", path, i, taint.Key),
				"has a key with two effects, and an Auto Scaling group's tag can hold one", nil, "use two keys")
		}
		keys[taint.Key] = true
	}
	if t.DiskGiB < 2 {
		problems.Add(path+".diskGiB", "leaves nothing for pods", t.DiskGiB, "give the size of the root volume")
	}
	if len(t.Nodes) == 0 {
		problems.Add(path, "does not say what a node has", nil, "give vCPUs, memory and pods of its instance types")
	}
	problems.Join(t.accelerator(path))

	tags := TemplateTags(t)
	if room := maxTags - eksTags; len(tags) > room {
		problems.Add(path, fmt.Sprintf("has labels, taints and resources that make more tags than the %d for which "+
			"an Auto Scaling group has room beside the %d of EKS", room, eksTags), len(tags), "remove labels or taints")
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		at := fmt.Sprintf("%s.tags[%q]", path, key)
		if len(key) > maxTagKey {
			problems.Add(at, fmt.Sprintf("has a key of more than the %d characters that AWS allows", maxTagKey),
				len(key),
				fmt.Sprintf("shorten the label's or taint's key by %d", len(key)-maxTagKey))
		}
		if len(tags[key]) > maxTagValue {
			problems.Add(at, fmt.Sprintf("has a value of more than the %d characters that AWS allows", maxTagValue),
				len(tags[key]), "shorten it")
		}
	}
	return problems
}

func (t Template) accelerator(path string) (problems problem.List) {
	at := fmt.Sprintf("%s.labels[%q]", path, pool.AcceleratorLabel)
	value, found := t.Labels[pool.AcceleratorLabel]
	switch {
	case t.GPUs == 0 && found:
		problems.Add(at, "is on a group without GPUs, whose nodes would stay unready for cluster-autoscaler", value,
			"remove the label")
	case t.GPUs > 0 && t.DeviceMode == pool.DRA && found:
		problems.Add(at, fmt.Sprintf("is on a DRA group, whose nodes never register %s and would stay unready for "+
			"cluster-autoscaler", pool.GPUResource), value, "remove the label")
	case t.GPUs > 0 && t.DeviceMode != pool.DRA && value == "":
		problems.Add(at, "is missing on a group with GPUs, so that each pod brings two nodes", nil,
			"set it, for example to nvidia-l4")
	}
	return problems
}
