package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"

	"github.com/headroom-eks/headroom/capacity"
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
		return print(c.out, rows, nil)
	}
	if !exported {
		fmt.Fprintln(c.out, "\nno capacity yet: the stack has no such output; run up first")
		return nil
	}
	doc, err := document(value)
	if err != nil {
		return err
	}
	rows, notes := capacityRows(doc)
	return print(c.out, rows, notes)
}

// document decodes the output, which is an object or its JSON text.
func document(value any) (capacity.Document, error) {
	var doc capacity.Document
	data, err := json.Marshal(value)
	if text, ok := value.(string); ok {
		data = []byte(text)
	}
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil {
		return doc, fmt.Errorf("the stack output capacity is not the document it should be: %w", err)
	}
	return doc, nil
}

func capacityRows(doc capacity.Document) (rows []row, notes []string) {
	for _, p := range doc.Pools {
		r := row{
			pool:     p.Name,
			scaler:   string(p.Scaler),
			types:    strings.Join(p.InstanceTypes, ","),
			gpus:     strconv.Itoa(p.PerNode.GPUs),
			realized: strconv.Itoa(p.Nodes.Realized),
			maximum:  strconv.Itoa(p.Nodes.Maximum),
			boundBy:  string(p.BoundBy),
		}
		for _, c := range p.Ceilings {
			if c.Kind == capacity.Unknown && c.Of == capacity.RealizedCount {
				r.realized = "?"
			}
		}
		rows = append(rows, r)
		if p.Error != "" {
			notes = append(notes, p.Name+": "+p.Error)
		}
		for _, note := range p.Notes {
			notes = append(notes, p.Name+": "+note)
		}
	}
	return rows, notes
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

func print(out io.Writer, rows []row, notes []string) error {
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
