package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Every rule about one value has a row, here or in TestProblemsNamePathValueAndRemedy.
func TestEveryValueOutOfItsRangeIsNamed(t *testing.T) {
	existing := func(vpc, subnets string) string {
		return fmt.Sprintf(`{"network": {"existing": {"vpcId": %q, "privateSubnetIds": [%s]}}}`, vpc, subnets)
	}
	network := func(members string) string { return `{"network": {` + members + `}}` }
	general := func(members string) string { return environment(`"general": {` + members + `}`) }
	const limits = `"limits": {"vcpus": 8, "memoryGiB": 8}`
	manyTags := make([]string, 41)
	for i := range manyTags {
		manyTags[i] = fmt.Sprintf(`"t%d": ""`, i)
	}
	for _, c := range []struct{ config, want string }{
		{existing("1", `"subnet-1", "subnet-2"`), `network.existing.vpcId: found "1"`},
		{existing("vpc-1", `"subnet-1"`), `network.existing.privateSubnetIds: found 1; EKS needs`},
		{existing("vpc-1", `"subnet-1", "net-2"`), `network.existing: subnet id "net-2"`},
		{existing("vpc-1", `"subnet-1", "subnet-1"`), `network.existing: subnet subnet-1 is given twice`},
		{network(`"zones": ["us-west-2a", "us-west-2b"], "cidr": "10.0.0.0/22"`),
			`network.cidr: found "10.0.0.0/22"; write an IPv4 block`},
		{network(`"zones": ["us-west-2a", "us-west-2b"], "cidr": "10.0.0.1/16"`),
			`network.cidr: found "10.0.0.1/16"; write an IPv4 block`},
		{network(`"zones": ["us-west-2", "us-west-2b"]`),
			`network.zones: found "us-west-2"; write the name of an availability zone`},
		{network(`"zones": ["us-west-2a", "us-west-2a"]`), `network.zones: us-west-2a is given twice`},
		{environment(`"cluster": {"name": "a.b"}`), `cluster.name: found "a.b" (3 characters)`},
		{environment(`"cluster": {"uniqueSuffix": true, "name": "` + strings.Repeat("a", 94) + `"}`),
			`(94 characters); EKS takes letters, digits, - and _, at most 93`},
		{environment(`"cluster": {"kubernetesVersion": "v1.36"}`),
			`cluster.kubernetesVersion: found "v1.36"; write a minor version`},
		{environment(`"cluster": {"publicAccessCidrs": ["203.0.113.7/24"]}`),
			`cluster.publicAccessCidrs: found "203.0.113.7/24"; write address blocks with no host bits`},
		{environment(`"cluster": {"access": {"a": {"principalArn": "admin", "policy": "view"}}}`),
			`cluster.access["a"].principalArn: found "admin"`},
		{environment(
			`"cluster": {"access": {"a": {"principalArn": "arn:aws:iam::123456789012:role/a", "policy": "view"},
			"b": {"principalArn": "arn:aws:iam::123456789012:role/a", "policy": "view"}}}`), `cluster.access["b"]: "a" names the same principal`},
		{environment(`"cluster": {"secretsKeyArn": "alias/a"}`), `cluster.secretsKeyArn: found "alias/a"`},
		{environment(`"cluster": {"logRetentionDays": 31}`), `cluster.logRetentionDays: found 31`},
		{environment(`"capacity": {"validFor": "1d"}`), `capacity.validFor: found "1d"`},
		{environment(`"capacity": {"surgeMarginPercent": 101}`), `capacity.surgeMarginPercent: found 101`},
		{environment(`"capacity": {"reservedVcpus": {"spot": -1}}`),
			`capacity.reservedVcpus: found onDemand 0, spot -1`},
		{environment(`"gitOps": {"applied": true}`), `gitOps.applied: has no meaning`},
		{environment(`"gitOps": {"nodePools": "keep"}`), `gitOps.nodePools: no pool has NodePools`},
		{environment(`"tags": {` + strings.Join(manyTags, ", ") + `}`), `tags: found 41; at most 40`},
		{environment(`"tags": {"a": "` + strings.Repeat("ä", 257) + `"}`),
			`tags["a"]: a key has 1 to 128 characters and a value at most 256; found 1 and 257`},
		{environment(`"system": {"nodeCount": 0}`), `system.nodeCount: found 0`},
		{environment(`"system": {"diskGiB": 10}`), `system.diskGiB: found 10`},
		{environment(`"autoMode": {"builtInPools": ["system", "system"]}`),
			`autoMode.builtInPools: system is given twice`},
		{environment(`"autoMode": {"builtInPools": []}`,
			`"pools": [{"name": "a", "scaler": "auto-mode", "maxNodeCount": 1, "instanceTypes": ["g6.xlarge"]}]`), `autoMode.builtInPools: is empty and there is no general pool`},
		{environment(`"autoMode": {"keep": true}`,
			`"pools": [{"name": "a", "scaler": "fixed", "nodeCount": 1, "instanceTypes": ["g6.xlarge"]}]`), `autoMode.keep: Auto Mode stays on, beside which nothing else scales or has groups, and pools[0] "a" has scaler fixed`},
		{environment(`"autoMode": {"keep": true}`, `"general": {"scaler": "karpenter", `+limits+`}`),
			`autoMode.keep: Auto Mode stays on, beside which nothing else scales, and the general pool has scaler karpenter`},
		{environment(`"karpenter": {"interruptionQueueKeyArn": "k"}`, `"general": {"scaler": "karpenter", `+limits+`}`),
			`karpenter.interruptionQueueKeyArn: found "k"`},
		{general(`"scaler": "fixed", ` + limits), `general.scaler: found "fixed"`},
		{general(`"scaler": "karpenter", "limits": {"vcpus": 0, "memoryGiB": 8}`),
			`general.limits: found vcpus 0 and memoryGiB 8; both are at least 1`},
		{general(`"scaler": "karpenter", "consolidateAfter": "1d", ` + limits), `general.consolidateAfter: found "1d"`},
		{general(`"scaler": "karpenter", "budgets": [{"nodes": "101%"}], ` + limits),
			`general.budgets[0].nodes: found "101%"`},
		{general(`"scaler": "karpenter", "budgets": [{"nodes": "1", "duration": "8h"}], ` + limits),
			`general.budgets[0]: schedule and duration go together`},
		{general(`"scaler": "karpenter", "budgets": [` + strings.Repeat(`{"nodes": "1"}, `, 50) + `{"nodes": "1"}], ` +
			limits), `general.budgets: found 51; Karpenter takes 50`},
		{pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`, `"diskGiB": 16385`), `diskGiB: found 16385; 50 to 16384`},
		{pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`, `"weight": 101`), `weight: found 101; 1 to 100`},
		{pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`, `"terminationGracePeriod": "Never"`),
			`terminationGracePeriod: found "Never"`},
		{pools(`"scaler": "karpenter"`, `"nodeCount": 1`, `"maxNodeCount": 1`, `"static": true`),
			`maxNodeCount has no place in a static pool`},
		{pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`, `"capacityTypes": ["spot", "spot"]`),
			`capacityTypes: spot is given twice`},
		{pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`, `"zones": ["us-west-2a", "us-west-2a"]`),
			`zones: us-west-2a is given twice`},
		{environment(`"pools": [{"name": "A", "scaler": "fixed", "nodeCount": 1, "instanceTypes": ["g6.xlarge"]}]`),
			`the name is refused by Kubernetes`},
		{environment(`"pools": [{"name": "a", "scaler": "fixed", "nodeCount": 1, "instanceTypes": []}]`),
			`instanceTypes: is empty; name one`},
		{environment(
			`"pools": [{"name": "a", "scaler": "fixed", "nodeCount": 1, "instanceTypes": ["g6.xlarge", "g6.xlarge"]}]`), `instanceTypes: g6.xlarge is given twice`},
		{environment(
			`"pools": [{"name": "a", "scaler": "fixed", "nodeCount": 1, "instanceTypes": ["g6.xlarge", "g6e.xlarge"]}]`), `found 2 types; a fixed pool has one`},
	} {
		t.Run(c.want, func(t *testing.T) {
			_, problems := load(c.config)
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("no problem says %q; found %q", c.want, problems)
			}
		})
	}
}
