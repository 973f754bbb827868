package aws

import (
	"regexp"
	"slices"
	"testing"
)

func TestEveryTypeAndQuestionHasItsPermission(t *testing.T) {
	for typ, row := range table {
		p, err := PermissionOf(typ)
		if err != nil {
			t.Error(err)
		} else if p.Read == "" || p.Create == "" || p.Delete == "" || p.Update == "" && row.onUpdate != nil {
			t.Errorf("%s: a type is read, created and deleted, and updated if it can be: %+v", typ, p)
		}
	}
	for token := range answers {
		if p, err := PermissionOf(token); err != nil {
			t.Error(err)
		} else if len(p.Writes()) > 0 {
			t.Errorf("%s: a question writes %v", token, p.Writes())
		}
	}
}

func TestEveryPermissionBelongsToATypeOrAQuestion(t *testing.T) {
	action := regexp.MustCompile(`^[a-z0-9]+:[A-Z][A-Za-z]+$`)
	for token, p := range permissions {
		if answers[token] == nil && table[token] == nil {
			t.Errorf("%s: nobody asks for it", token)
		}
		for _, list := range []Actions{p.Read, p.Create, p.Update, p.Delete} {
			actions := list.List()
			for i, a := range actions {
				if !action.MatchString(a) || slices.Contains(actions[:i], a) {
					t.Errorf("%s: %q is not an API action, or stands there twice", token, a)
				}
			}
		}
	}
}

func TestATypeWithoutARowIsAnError(t *testing.T) {
	if p, err := PermissionOf("aws:x/y:Y"); err == nil {
		t.Errorf("it has %+v", p)
	}
}
