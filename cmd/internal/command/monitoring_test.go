package command

import (
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/commandtest"
)

// metricName matches the names of metrics in the expressions of rules and of the dashboard.
var metricName = regexp.MustCompile(`\b(?:replayd|grpc_server|process|go)_[a-z_]+\b`)

// ofFleet matches metrics that a daemon has only with live roots, and those of workers, shippers and publishers, whose tests compare them.
var ofFleet = regexp.MustCompile(`^replayd_(live|ship|work|queue|publish)_`)

// TestMonitoring checks that the alerts and the dashboard use only metrics that the daemon exports, and that docs/operations.md
// lists all of replayd's own metrics.
func TestMonitoring(t *testing.T) {
	metrics := commandtest.FreeAddr(t)
	cmd := program(t, "serve", "--listen", commandtest.FreeAddr(t), "--metrics-listen", metrics, "--log-level", "error")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	var text string
	for deadline := time.Now().Add(time.Minute); text == "" && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if resp, err := http.Get("http://" + metrics + "/metrics"); err == nil {
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			text = string(body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	// Metrics with labels appear only after their first event.
	has := map[string]bool{"replayd_errors_total": true, "replayd_decoder_faults_total": true, "replayd_refused_connections_total": true}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[1] == "TYPE" {
			has[fields[2]] = true
		}
	}
	root := filepath.Join("..", "..", "..")
	for _, file := range []string{"alerts.yml", "dashboard.json"} {
		data, err := os.ReadFile(filepath.Join(root, "packaging", "prometheus", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range metricName.FindAllString(string(data), -1) {
			if !has[name] && !ofFleet.MatchString(name) {
				t.Errorf("%s uses %s, which the daemon does not export", file, name)
			}
		}
	}
	docs, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if strings.HasPrefix(name, "replayd_") && !strings.Contains(string(docs), name) {
			t.Errorf("docs/operations.md does not contain %s", name)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	test := exec.Command(promtool, "test", "rules", "alerts_test.yml")
	test.Dir = filepath.Join(root, "packaging", "prometheus")
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
