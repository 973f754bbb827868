// Command pulumi-resource-sandbox is the sandbox's provider plugin: it answers for the package in the name it was
// started under, such as pulumi-resource-aws. It reads the simulated account from the file that HEADROOM_SANDBOX_WORLD
// names. Started as aws, it gives tokens for the simulated clusters, as the aws command does.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/aws"
	"github.com/headroom-eks/headroom/sandbox/eks"
	"github.com/headroom-eks/headroom/sandbox/kubernetes"
	"github.com/headroom-eks/headroom/sandbox/plugin"
	"github.com/headroom-eks/headroom/sandbox/random"
	"github.com/headroom-eks/headroom/sandbox/world"
)

func main() {
	program := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	if program == "aws" {
		token, err := kubernetes.GetToken(os.Args[1:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		fmt.Println(token)
		return
	}
	pkg, err := named(program)
	if err == nil {
		err = plugin.Main(pkg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox provider:", err)
		os.Exit(1)
	}
}

// named is the package for the plugin's file name.
func named(program string) (plugin.Package, error) {
	path := os.Getenv(world.PathVariable)
	switch program {
	case "pulumi-resource-aws":
		return plugin.Package{Name: "aws", Version: plugin.Versions["aws"], Backend: aws.New(path)}, nil
	case "pulumi-resource-eks":
		return eks.Package(plugin.Versions["eks"]), nil
	case "pulumi-resource-random":
		return random.Package(plugin.Versions["random"]), nil
	case "pulumi-resource-kubernetes":
		w, err := world.Open(path)
		return kubernetes.Package(plugin.Versions["kubernetes"], w), err
	}
	return plugin.Package{}, fmt.Errorf("started as %q; it must be started as "+
		"pulumi-resource-{aws,eks,kubernetes,random}", program)
}
