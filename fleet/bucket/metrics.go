package bucket

import "github.com/prometheus/client_golang/prometheus"

// Metrics registers metrics of the requests to stores, and returns [Options.Account] of each root.
func Metrics(reg prometheus.Registerer) func(alias string) func(doing string, ok bool, bytes int64) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "replayd", Name: "store_requests_total",
		Help: "Attempts to ask a store of objects, by root, by what for (list, read, look, write, remove), and by result (ok, failed).",
	}, []string{"root", "operation", "result"})
	received := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "replayd", Name: "store_received_bytes_total", Help: "Bytes of objects that came from a store, by root.",
	}, []string{"root"})
	reg.MustRegister(requests, received)
	operations := map[string]string{"listing": "list", "reading": "read", "looking up": "look", "writing": "write", "removing": "remove"}
	return func(alias string) func(string, bool, int64) {
		return func(doing string, ok bool, bytes int64) {
			result := "ok"
			if !ok {
				result = "failed"
			}
			requests.WithLabelValues(alias, operations[doing], result).Inc()
			received.WithLabelValues(alias).Add(float64(bytes))
		}
	}
}
