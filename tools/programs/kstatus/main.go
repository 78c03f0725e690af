// Verdicts of kstatus, the library by which Flux, Argo CD's health of generic kinds and `helm --wait` read an object:
// a JSON list of objects on standard input, a JSON list of `{status, message}` on standard output.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	log.SetFlags(0)
	var objects []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		log.Fatal(err)
	}
	verdicts := make([]verdict, len(objects))
	for index, text := range objects {
		var object unstructured.Unstructured
		if err := object.UnmarshalJSON(text); err != nil {
			log.Fatalf("object %d: %v", index, err)
		}
		result, err := status.Compute(&object)
		if err != nil {
			log.Fatalf("object %d: %v", index, err)
		}
		verdicts[index] = verdict{Status: result.Status.String(), Message: result.Message}
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		log.Fatal(err)
	}
}
