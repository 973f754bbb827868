//go:build charts

package gpu

// The modules are wanted for their charts; an import keeps them at their versions in go.mod.
import (
	_ "github.com/NVIDIA/k8s-device-plugin/api/config/v1"
	_ "sigs.k8s.io/dra-driver-nvidia-gpu/pkg/flock"
)
