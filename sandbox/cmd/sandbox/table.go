package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"

	"github.com/headroom-eks/headroom/sandbox/run"
)

// atUpdate stands for a number that only an update can tell.
const atUpdate = "at update"

// row is one pool in the table.
type row struct{ pool, scaler, types, gpus, realized, maximum, boundBy string }

// table prints the stack's capacity: from the output where it is known, else the pools of the configuration.
func (c command) table(outputs map[string]any) error {
	value, exported := outputs["capacity"]
	if value == run.Unknown {
		rows, err := configured(filepath.Join(c.project, "Pulumi."+c.environment+".yaml"))
		if err != nil {
			return err
		}
		return printTable(c.out, rows, nil)
	}
	if !exported {
		fmt.Fprintln(c.out, "\nno capacity yet: the stack has no such output; run up first")
		return nil
	}
	rows, notes, err := advertised(value)
	if err != nil {
		return err
	}
	return printTable(c.out, rows, notes)
}

// configured are the rows of a preview that cannot know more than the stack file says.
func configured(path string) ([]row, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Config map[string]json.RawMessage `json:"config"`
	}
	var environment struct {
		Pools []struct {
			Name, Scaler  string
			InstanceTypes []string
		}
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if raw, ok := file.Config["headroom:environment"]; ok {
		if err := json.Unmarshal(raw, &environment); err != nil {
			return nil, fmt.Errorf("%s: headroom:environment: %w", path, err)
		}
	}
	var rows []row
	for _, p := range environment.Pools {
		rows = append(rows, row{p.Name, p.Scaler, strings.Join(p.InstanceTypes, ","), atUpdate, atUpdate, atUpdate,
			atUpdate})
	}
	return rows, nil
}

func printTable(out io.Writer, rows []row, notes []string) error {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "POOL\tSCALER\tTYPE\tGPUS/NODE\tREALIZED\tMAXIMUM\tBOUND BY")
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join([]string{r.pool, r.scaler, r.types, r.gpus, r.realized, r.maximum, r.boundBy},
			"\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(rows) == 0 {
		fmt.Fprintln(out, "(no pools)")
	}
	for _, note := range notes {
		fmt.Fprintln(out, "  "+note)
	}
	return nil
}
