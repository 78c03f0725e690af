// Drives an operator benchmark: create objects, wait until all are done, measure the operator's CPU and memory,
// and measure the API server's own limit for status writes.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

func die(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// CPU time of the API server since its start
func apiServerSeconds(cfg *rest.Config) float64 {
	client, err := rest.HTTPClientFor(cfg)
	die(err)
	response, err := client.Get(cfg.Host + "/metrics")
	die(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	die(err)
	for _, line := range strings.Split(string(text), "\n") {
		if value, found := strings.CutPrefix(line, "process_cpu_seconds_total "); found {
			seconds, err := strconv.ParseFloat(value, 64)
			die(err)
			return seconds
		}
	}
	die(fmt.Errorf("the API server has no process_cpu_seconds_total"))
	return 0
}

type usage struct {
	cpu float64
	rss int64
}

// finds the processes of a group
func membersOf(pgid int) (stats []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range all {
		if f := statFields(stat); f != nil && f[2] == strconv.Itoa(pgid) {
			stats = append(stats, stat)
		}
	}
	return
}

// the fields of a process from its state on; nil when it is gone
func statFields(stat string) []string {
	b, err := os.ReadFile(stat)
	if err != nil {
		return nil
	}
	s := string(b)
	return strings.Fields(s[strings.LastIndex(s, ")")+2:])
}

// sums user+system seconds and resident memory over processes
func usageOf(stats []string) (u usage) {
	for _, stat := range stats {
		f := statFields(stat)
		if f == nil {
			continue
		}
		ut, _ := strconv.ParseFloat(f[11], 64)
		st, _ := strconv.ParseFloat(f[12], 64)
		u.cpu += (ut + st) / 100
		r, _ := strconv.ParseInt(f[21], 10, 64)
		u.rss += r * 4096
	}
	return
}

// what the driver reads of an object: to parse all of it takes CPU time from the engine that is measured
type object struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Status map[string]json.RawMessage `json:"status"`
}

func (o *object) done() bool {
	var conditions []struct{ Type, Status string }
	_ = json.Unmarshal(o.Status["conditions"], &conditions)
	for _, c := range conditions {
		if c.Status == "True" && (c.Type == "Ready" || c.Type == "Complete" || c.Type == "Succeeded") {
			return true
		}
	}
	return false
}

// counts, by field, the objects whose status does not have it
func countMissing(o *object, fields []string, missing map[string]int) {
	for _, f := range fields {
		if _, ok := o.Status[f]; !ok {
			missing[f]++
		}
	}
}

// the objects with a true condition as they change after a version, until the API server ends the watch
func watch(client *http.Client, url string, version string) <-chan object {
	response, err := client.Get(url + "?watch=true&resourceVersion=" + version)
	die(err)
	if response.StatusCode != http.StatusOK {
		die(fmt.Errorf("watch: %s", response.Status))
	}
	changes := make(chan object)
	go func() {
		defer close(changes)
		defer response.Body.Close()
		lines := bufio.NewReaderSize(response.Body, 1<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var event struct{ Object object }
			// Without a condition that is True, nothing is done.
			if bytes.Contains(line, []byte(`"status":"True"`)) && json.Unmarshal(line, &event) == nil {
				changes <- event.Object
			}
		}
	}()
	return changes
}

func main() {
	kc := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "")
	n := flag.Int("n", 1000, "objects")
	c := flag.Int("c", 32, "create concurrency")
	tmpl := flag.String("template", "template-peer.yaml", "")
	ns := flag.String("ns", "bench", "")
	resource := flag.String("resource", "", "group/version/plural (default from the template: kind lowercased + s)")
	mode := flag.String("mode", "drain", "drain | raw | delete")
	idle := flag.Duration("idle", 0, "after draining, keep the operator running and report its CPU over this time")
	timeout := flag.Duration("timeout", 300*time.Second, "")
	fields := flag.String("fields", "", "comma-separated fields that the status of each object has when it is done")
	label := flag.String("label", "", "")
	logPath := flag.String("log", os.DevNull, "file for the output of the operator")
	flag.Parse()
	cfg, err := clientcmd.BuildConfigFromFlags("", *kc)
	die(err)
	cfg.QPS, cfg.Burst = 1e6, 1e6
	dc, err := dynamic.NewForConfig(cfg)
	die(err)
	raw, err := os.ReadFile(*tmpl)
	die(err)
	mk := func(i int) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		die(yaml.Unmarshal([]byte(strings.ReplaceAll(string(raw), "NAME", fmt.Sprintf("b-%06d", i))), &o.Object))
		return o
	}
	first := mk(0)
	gv, _ := schema.ParseGroupVersion(first.GetAPIVersion())
	gvr := gv.WithResource(strings.ToLower(first.GetKind()) + "s")
	if *resource != "" {
		p := strings.Split(*resource, "/")
		gvr = schema.GroupVersionResource{Group: p[0], Version: p[1], Resource: p[2]}
	}
	_ = meta.Accessor
	ri := dc.Resource(gvr).Namespace(*ns)
	ctx, cancel := context.WithTimeout(context.Background(), *timeout+60*time.Second)
	defer cancel()
	parallel := func(f func(i int)) time.Duration {
		t := time.Now()
		ch := make(chan int)
		var wg sync.WaitGroup
		for w := 0; w < *c; w++ {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range ch {
					f(i)
				}
			}()
		}
		for i := 0; i < *n; i++ {
			ch <- i
		}
		close(ch)
		wg.Wait()
		return time.Since(t)
	}
	switch *mode {
	case "delete":
		l, err := ri.List(ctx, metav1.ListOptions{})
		die(err)
		*n = len(l.Items)
		parallel(func(i int) {
			if len(l.Items[i].GetFinalizers()) > 0 {
				_, err := ri.Patch(ctx, l.Items[i].GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				die(err)
			}
		})
		die(ri.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		return
	case "raw":
		objs := make([]*unstructured.Unstructured, *n)
		parallel(func(i int) {
			o, err := ri.Create(ctx, mk(i), metav1.CreateOptions{})
			die(err)
			objs[i] = o
		})
		d := parallel(func(i int) {
			o := objs[i]
			_ = unstructured.SetNestedField(o.Object, map[string]any{"endpointId": "x", "url": "https://x", "observedGeneration": int64(1), "conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Raw", "message": "", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}}}, "status")
			_, err := ri.UpdateStatus(ctx, o, metav1.UpdateOptions{})
			die(err)
		})
		fmt.Printf("raw status writes: %d in %.2fs = %.0f/s (c=%d)\n", *n, d.Seconds(), float64(*n)/d.Seconds(), *c)
		return
	}
	apiServerBefore := apiServerSeconds(cfg)
	ct := parallel(func(i int) { _, err := ri.Create(ctx, mk(i), metav1.CreateOptions{}); die(err) })
	// watch from the current list
	l, err := ri.List(ctx, metav1.ListOptions{Limit: 1})
	die(err)
	client, err := rest.HTTPClientFor(cfg)
	die(err)
	url := fmt.Sprintf("%s/apis/%s/%s/namespaces/%s/%s", cfg.Host, gvr.Group, gvr.Version, *ns, gvr.Resource)
	changes := watch(client, url, l.GetResourceVersion())
	args := flag.Args()
	cmd := exec.Command(args[0], args[1:]...)
	lf, _ := os.Create(*logPath)
	cmd.Stdout, cmd.Stderr = lf, lf
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	start := time.Now()
	die(cmd.Start())
	exited := make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()
	var peak int64
	stop := make(chan struct{})
	var cpuLast float64
	go func() {
		var members []string
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				// To find them takes longer than to read them.
				if i%20 == 0 {
					members = membersOf(cmd.Process.Pid)
				}
				u := usageOf(members)
				if u.rss > peak {
					peak = u.rss
				}
				if u.cpu > 0 {
					cpuLast = u.cpu
				}
			}
		}
	}()
	fin := map[string]time.Duration{}
	to := time.After(*timeout)
	var firstDone time.Duration
	required := strings.FieldsFunc(*fields, func(r rune) bool { return r == ',' })
	missing := map[string]int{}
	observe := func(o *object) {
		if _, known := fin[o.Metadata.Name]; known || !o.done() {
			return
		}
		fin[o.Metadata.Name] = time.Since(start)
		countMissing(o, required, missing)
		if firstDone == 0 {
			firstDone = time.Since(start)
		}
	}
loop:
	for len(fin) < *n {
		select {
		case o, ok := <-changes:
			if !ok {
				l, err := ri.List(ctx, metav1.ListOptions{})
				die(err)
				for i := range l.Items {
					text, err := l.Items[i].MarshalJSON()
					die(err)
					var listed object
					die(json.Unmarshal(text, &listed))
					observe(&listed)
				}
				changes = watch(client, url, l.GetResourceVersion())
				continue
			}
			observe(&o)
		case <-exited:
			fmt.Fprintln(os.Stderr, "the operator exited early; its output is in", *logPath)
			break loop
		case <-to:
			fmt.Fprintln(os.Stderr, "timed out")
			break loop
		}
	}
	el := time.Since(start)
	cpu := cpuLast
	// Before the operator is stopped: what it still sends then is no part of the work that is measured.
	apiServerCPU := apiServerSeconds(cfg) - apiServerBefore
	var ds []float64
	for _, d := range fin {
		ds = append(ds, d.Seconds())
	}
	sort.Float64s(ds)
	out := map[string]any{"label": *label, "started_ms": start.UnixMilli(), "n": *n, "done": len(fin), "create_s": ct.Seconds(), "first_s": firstDone.Seconds(), "drain_s": el.Seconds(), "per_s_after_first": float64(len(fin)-1) / (el - firstDone).Seconds(), "cpu_s": cpu, "cpu_ms_per_object": cpu * 1000 / float64(*n), "api_server_cpu_ms_per_object": apiServerCPU * 1000 / float64(*n), "peak_rss_mib": float64(peak) / 1048576, "missing_fields": missing}
	if *idle > 0 {
		time.Sleep(3 * time.Second)
		a := usageOf(membersOf(cmd.Process.Pid))
		time.Sleep(*idle)
		b := usageOf(membersOf(cmd.Process.Pid))
		out["idle_cpu_pct"] = 100 * (b.cpu - a.cpu) / idle.Seconds()
		out["idle_rss_mib"] = float64(b.rss) / 1048576
	}
	close(stop)
	// The measurement is over: a process that is profiled writes its profile when it ends in order.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-exited:
	case <-time.After(60 * time.Second):
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	j, _ := json.Marshal(out)
	fmt.Println(string(j))
}
