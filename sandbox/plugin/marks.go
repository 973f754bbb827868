package plugin

import "github.com/pulumi/pulumi/sdk/v3/go/common/resource"

// plain drops secret marks and turns a resource reference into the resource's id (a component's into its URN), through
// and through. Unknown values stay unknown.
func plain(m resource.PropertyMap) resource.PropertyMap {
	if m == nil {
		return nil
	}
	return plainValue(resource.NewProperty(m)).ObjectValue()
}

func plainValue(v resource.PropertyValue) resource.PropertyValue {
	switch {
	case v.IsSecret():
		return plainValue(v.SecretValue().Element)
	case v.IsOutput():
		if !v.OutputValue().Known {
			return resource.MakeComputed(resource.NewProperty(""))
		}
		return plainValue(v.OutputValue().Element)
	case v.IsResourceReference():
		ref := v.ResourceReferenceValue()
		switch {
		case ref.ID.IsString() && ref.ID.StringValue() == "", ref.ID.IsComputed():
			return resource.MakeComputed(resource.NewProperty(""))
		case ref.ID.IsString():
			return ref.ID
		}
		return resource.NewProperty(string(ref.URN))
	case v.IsArray():
		out := make([]resource.PropertyValue, len(v.ArrayValue()))
		for i, element := range v.ArrayValue() {
			out[i] = plainValue(element)
		}
		return resource.NewProperty(out)
	case v.IsObject():
		out := make(resource.PropertyMap, len(v.ObjectValue()))
		for key, element := range v.ObjectValue() {
			out[key] = plainValue(element)
		}
		return resource.NewProperty(out)
	}
	return v
}

// marked puts the secret marks of what went in on what comes out, path by path. A backend that copies a secret to
// another property loses its mark there, as a real provider does.
func marked(out, in resource.PropertyMap) resource.PropertyMap {
	if out == nil {
		return nil
	}
	return markedValue(resource.NewProperty(out), resource.NewProperty(in)).ObjectValue()
}

func markedValue(out, in resource.PropertyValue) resource.PropertyValue {
	switch {
	case in.IsSecret():
		if out.IsSecret() {
			return out
		}
		return resource.MakeSecret(out)
	case in.IsObject() && out.IsObject():
		copied := out.ObjectValue().Copy()
		for key, element := range in.ObjectValue() {
			if _, has := copied[key]; has {
				copied[key] = markedValue(copied[key], element)
			}
		}
		return resource.NewProperty(copied)
	case in.IsArray() && out.IsArray() && len(in.ArrayValue()) == len(out.ArrayValue()):
		copied := make([]resource.PropertyValue, len(out.ArrayValue()))
		for i, element := range out.ArrayValue() {
			copied[i] = markedValue(element, in.ArrayValue()[i])
		}
		return resource.NewProperty(copied)
	case in.IsArray() && out.IsArray() && in.ContainsSecrets():
		return resource.MakeSecret(out)
	}
	return out
}
