package volume_test

import (
	"testing"

	"github.com/headroom-eks/headroom/pool/volume"
)

func TestARootVolumeHoldsItsImagesAndExists(t *testing.T) {
	for gib, fine := range map[int]bool{-1: false, 49: false, 50: true, 16384: true, 16385: false} {
		if err := volume.Validate("diskGiB", gib, 50).Err(); (err == nil) != fine {
			t.Errorf("%d: %v", gib, err)
		}
	}
}
