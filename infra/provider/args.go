package provider

import (
	"fmt"
	"reflect"

	"github.com/headroom-eks/headroom/problem"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Args of the explicit provider, which takes no setting from the stack file by itself. What is secret in the stack file
// is secret here too; keys and session token are in any case (aws.NewProvider).
func (s Settings) Args() *aws.ProviderArgs {
	args := &aws.ProviderArgs{}
	from, to := reflect.ValueOf(s), reflect.ValueOf(args).Elem()
	for i := range from.NumField() {
		field := from.Type().Field(i)
		if !field.IsExported() || from.Field(i).IsZero() {
			continue
		}
		value := input(from.Field(i).Interface())
		if value == nil {
			continue
		}
		if s.isSecret(field.Tag.Get("json")) {
			value = pulumi.ToSecret(value).(pulumi.Input)
		}
		to.FieldByName(field.Name).Set(reflect.ValueOf(value))
	}
	return args
}

// input is a setting as the provider takes it; nil for default tags, which the program merges into its own.
func input(value any) pulumi.Input {
	switch v := value.(type) {
	case string:
		return pulumi.StringPtr(v)
	case *bool:
		return pulumi.BoolPtr(*v)
	case *int:
		return pulumi.IntPtr(*v)
	case []string:
		return pulumi.ToStringArray(v)
	case []map[string]string:
		return endpoints(v)
	case *IgnoreTags:
		return aws.ProviderIgnoreTagsArgs{Keys: pulumi.ToStringArray(v.Keys),
			KeyPrefixes: pulumi.ToStringArray(v.KeyPrefixes)}
	case *AssumeRole:
		return aws.ProviderAssumeRoleArgs{RoleArn: pulumi.StringPtr(v.RoleArn), Duration: given(v.Duration)}
	case *AssumeRoleWithWebIdentity:
		return aws.ProviderAssumeRoleWithWebIdentityArgs{
			RoleArn:              pulumi.StringPtr(v.RoleArn),
			Duration:             given(v.Duration),
			SessionName:          given(v.SessionName),
			WebIdentityTokenFile: given(v.WebIdentityTokenFile),
		}
	default:
		return nil
	}
}

func given(text string) pulumi.StringPtrInput {
	if text == "" {
		return nil
	}
	return pulumi.StringPtr(text)
}

// endpointFields of the provider's arguments by the short name of the service.
func endpointFields() map[string]int {
	fields := map[string]int{}
	t := reflect.TypeFor[aws.ProviderEndpointArgs]()
	for i := range t.NumField() {
		fields[t.Field(i).Tag.Get("pulumi")] = i
	}
	return fields
}

func (s Settings) validateEndpoints(problems *problem.List) {
	known := endpointFields()
	for i, services := range s.Endpoints {
		for _, service := range sorted(services) {
			if _, found := known[service]; !found {
				problems.Add(fmt.Sprintf("aws:endpoints[%d][%q]", i, service), "is not a service of the provider", nil,
					"use its name in the provider's documentation, for example eks")
			}
		}
	}
}

func endpoints(list []map[string]string) aws.ProviderEndpointArray {
	known := endpointFields()
	var array aws.ProviderEndpointArray
	for _, services := range list {
		var args aws.ProviderEndpointArgs
		for service, url := range services {
			reflect.ValueOf(&args).Elem().Field(known[service]).Set(reflect.ValueOf(pulumi.StringPtr(url)))
		}
		array = append(array, args)
	}
	return array
}
