package capacity

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// gzipped is how compressed text begins in base64: the two bytes that mark gzip, and its only method.
const gzipped = "H4sI"

// Fitted is the text of a document, for a place that takes no more than a number of bytes: as it is if it fits, else as
// base64 of gzip. Decode reads both. The error says by how much even that is too long.
func Fitted(text string, most int) (string, error) {
	if len(text) <= most {
		return text, nil
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	written := base64.StdEncoding.EncodeToString(packed.Bytes())
	if len(written) > most {
		return "", fmt.Errorf("capacity: the document takes %d bytes compressed, and %d fit", len(written), most)
	}
	return written, nil
}

// unpacked undoes Fitted. Text that is not compressed comes back as it is.
func unpacked(text []byte) ([]byte, error) {
	trimmed := strings.TrimSpace(string(text))
	if !strings.HasPrefix(trimmed, gzipped) {
		return text, nil
	}
	packed, err := base64.StdEncoding.DecodeString(trimmed)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	const most = 16 << 20 // bytes; a document of thousands of pools, and no way to fill a reader's memory
	plain, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return nil, err
	}
	return plain, r.Close()
}
