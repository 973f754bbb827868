package nodepool

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/pool/tag"
	"github.com/headroom-eks/headroom/pool/volume"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/api/resource"
)

var (
	amiAlias      = regexp.MustCompile(`^al2023@v20[0-9]{6}$`)
	reservationID = regexp.MustCompile(`^cr-[0-9a-z]+$`)

	reservable      = []string{"cpu", "memory", "ephemeral-storage", "pid"}
	evictionSignals = []string{
		"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree",
		"pid.available",
	}
)

// ValidateClass reports everything that is wrong with a node class. Path names the pool.
func ValidateClass(path string, class Class) problem.List {
	problems := ValidateAMIAlias(path+".amiAlias", class.AMIAlias)
	problems.Join(volume.Validate(path+".diskGiB", class.RootVolumeGiB, volume.MinGiB))
	for i, id := range class.CapacityReservationIDs {
		problems.Join(ValidateReservation(fmt.Sprintf("%s.capacityReservationIDs[%d]", path, i), id))
	}
	problems.Join(tag.Validate(path+".tags", class.Tags))
	problems.Join(ValidateKubelet(path+".kubelet", class.Kubelet))
	return problems
}

// ValidateAMIAlias reports an alias that is not a pinned release: with latest every release replaces every node (field
// fault BR-79).
func ValidateAMIAlias(path, alias string) (problems problem.List) {
	if !amiAlias.MatchString(alias) {
		problems.Add(path, "is not a pinned AL2023 release", alias, "use a form such as "+DefaultAMIAlias)
	}
	return problems
}

// ValidateReservation reports an id that EC2 would not give a capacity reservation.
func ValidateReservation(path, id string) (problems problem.List) {
	if !reservationID.MatchString(id) {
		problems.Add(path, "is not a capacity reservation", id, "use an id such as cr-0123456789abcdef0")
	}
	return problems
}

// maxPods of the largest instance types: 737, or 16 for each of the addresses with prefix delegation. What one type can
// address is asked where it is known.
// https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/eni-max-pods.txt
const maxPods = (737-2)*16 + 2

// ValidateKubelet reports everything that is wrong with kubelet settings. Path names them.
func ValidateKubelet(path string, k Kubelet) (problems problem.List) {
	for _, c := range []struct {
		field string
		n     int
	}{{"maxPods", k.MaxPods}, {"podsPerCore", k.PodsPerCore}} {
		if c.n < 0 || c.n > maxPods {
			problems.Add(path+"."+c.field, "is out of range", c.n, fmt.Sprintf("use 1 to %d, or leave it out", maxPods))
		}
	}
	for _, reserved := range []struct {
		field  string
		values map[string]string
		known  []string
	}{
		{"systemReserved", k.SystemReserved, reservable}, {"kubeReserved", k.KubeReserved, reservable},
		{"evictionHard", k.EvictionHard, evictionSignals}, {"evictionSoft", k.EvictionSoft, evictionSignals},
	} {
		at := path + "." + reserved.field
		problems.Join(onlyKeys(at, reserved.values, reserved.known))
		problems.Join(quantities(at, reserved.values))
	}
	problems.Join(k.validateGracePeriods(path))
	high, low := k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent
	if high < 0 || high > 100 || low < 0 || low > 100 || (high != 0 && low != 0 && high <= low) {
		problems.Add(path+".imageGCHighThresholdPercent", fmt.Sprintf("cannot be over a low mark of %d", low), high,
			"use percentages, the high one above the low one")
	}
	return problems
}

func onlyKeys(path string, values map[string]string, known []string) (problems problem.List) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		problem.OneOf(&problems, fmt.Sprintf("%s[%q]", path, key), key, known)
	}
	return problems
}

func quantities(path string, values map[string]string) (problems problem.List) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		share, percent := strings.CutSuffix(value, "%")
		n, err := resource.ParseQuantity(share)
		if err != nil || n.Sign() < 0 || percent && n.CmpInt64(100) > 0 {
			problems.Add(fmt.Sprintf("%s[%q]", path, key), "is not a quantity", value, "use a form such as 500Mi")
		}
	}
	return problems
}

// validateGracePeriods: each soft signal has one, and nothing else does.
func (k Kubelet) validateGracePeriods(path string) problem.List {
	problems := onlyKeys(path+".evictionSoftGracePeriod", k.EvictionSoftGracePeriod, evictionSignals)
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoft)) {
		if _, found := k.EvictionSoftGracePeriod[signal]; !found {
			problems.Add(fmt.Sprintf("%s.evictionSoft[%q]", path, signal), "has no grace period", nil,
				"add one under evictionSoftGracePeriod")
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoftGracePeriod)) {
		at := fmt.Sprintf("%s.evictionSoftGracePeriod[%q]", path, signal)
		if period := k.EvictionSoftGracePeriod[signal]; !readable(period) {
			problems.Add(at, "is not a duration", period, "use a form such as 90s")
		}
		if _, found := k.EvictionSoft[signal]; !found {
			problems.Add(at, "has no threshold", nil, "add one under evictionSoft")
		}
	}
	return problems
}
