package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra"
	"github.com/headroom-eks/headroom/sandbox/run"
)

// This file is all that the sandbox knows of the program that it runs.

// program is what the sandbox runs: the project's own program. The only thing it is told of the sandbox is the way to
// the cluster's API, since there is nothing at its address.
func program(dial func(ctx context.Context, network, address string) (net.Conn, error)) run.Program {
	return run.Program(infra.Program(infra.Options{Dial: dial}))
}

// advertised are the rows of the table, and the notes below it, from the stack output capacity.
func advertised(output any) (rows []row, notes []string, err error) {
	doc, err := capacity.Decode(output)
	if err != nil {
		return nil, nil, fmt.Errorf("the stack output capacity is not the document it should be: %w", err)
	}
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
	return rows, notes, nil
}
