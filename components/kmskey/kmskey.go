// Package kmskey holds the rule about customer managed keys of KMS.
//
// It owns how the ARN of a key looks. It does not own what a key's policy has to allow: each component that encrypts
// with one says so. It imports no Pulumi.
package kmskey

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/headroom-eks/headroom/problem"
)

// keyArn in any partition; key ids of several regions begin with mrk-.
// https://docs.aws.amazon.com/kms/latest/developerguide/concepts.html#key-id-key-ARN
var keyArn = regexp.MustCompile(`^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$`)

// ValidateArn reports what is not the ARN of a key. An alias is not taken: it can be pointed at another key, which does
// not decrypt what the first encrypted.
func ValidateArn(path, arn string) (problems problem.List) {
	if !keyArn.MatchString(arn) {
		problems.Add(path, "is not the ARN of a KMS key", arn,
			"write one like arn:aws:kms:us-west-2:111122223333:key/1234abcd-…, not that of an alias")
	}
	return problems
}

// ValidatePlace reports a key of another partition or region: what encrypts with it looks for it where it is itself.
func ValidatePlace(path, arn, partition, region string) (problems problem.List) {
	if !strings.HasPrefix(arn, "arn:"+partition+":kms:"+region+":") {
		problems.Add(path, fmt.Sprintf("is not a key of %s in partition %s", region, partition), arn,
			"name one of that region, for a key of several regions its replica there")
	}
	return problems
}
