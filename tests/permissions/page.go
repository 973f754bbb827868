package permissions

import (
	_ "embed"
	"slices"
	"strings"
	"text/template"

	"github.com/headroom-eks/headroom/sandbox/aws"
)

//go:embed page.md.tmpl
var source string

// Page is docs/permissions.md.
func Page() (string, error) {
	parsed, err := template.New("permissions").Funcs(template.FuncMap{"document": Document}).Parse(source)
	if err != nil {
		return "", err
	}
	tokens := Tokens()
	var page strings.Builder
	err = parsed.Execute(&page, map[string]any{
		"Modes":    Modes,
		"Preview":  Preview,
		"Policies": append([]Part{{Name: Preview, For: "every environment; it changes nothing"}}, Parts...),
		"Beliefs": slices.DeleteFunc(aws.Beliefs(), func(token string) bool {
			return !slices.Contains(tokens, token)
		}),
	})
	return page.String(), err
}
