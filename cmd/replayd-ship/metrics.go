package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/replayd/replayd/fleet/shipment/ship"
)

var (
	shipConnected = prometheus.NewDesc("replayd_ship_connected", "1 while there is a connection to NATS.", nil, nil)
	shipFiles     = prometheus.NewDesc("replayd_ship_files", "Files that are followed now.", nil, nil)
	shipWaiting   = prometheus.NewDesc("replayd_ship_waiting",
		"Files that wait, by what for: nats, room in the stream, the archive, the disk, or the owner of the source.", []string{"for"}, nil)
	shipBytes    = prometheus.NewDesc("replayd_ship_bytes_total", "Bytes of files that were shipped.", nil, nil)
	shipMessages = prometheus.NewDesc("replayd_ship_messages_total", "Messages with bytes that were shipped.", nil, nil)
	shipFailures = prometheus.NewDesc("replayd_ship_failures_total", "Failures of NATS, of the disk and of the archive, each of which is tried again.", nil, nil)
	shipArchived = prometheus.NewDesc("replayd_ship_archived_total", "Files that were archived.", nil, nil)
)

// collector collects a shipper's figures.
type collector struct {
	s    *ship.Shipper
	conn *nats.Conn
}

// metrics returns the metrics of a shipper.
func metrics(s *ship.Shipper, conn *nats.Conn) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collector{s, conn})
	return reg
}

// Describe implements prometheus.Collector.
func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{shipConnected, shipFiles, shipWaiting, shipBytes, shipMessages, shipFailures, shipArchived} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	n, waiting, connected := c.s.Figures(), c.s.Waiting(), 0.0
	if c.conn.IsConnected() {
		connected = 1
	}
	to <- prometheus.MustNewConstMetric(shipConnected, prometheus.GaugeValue, connected)
	to <- prometheus.MustNewConstMetric(shipFiles, prometheus.GaugeValue, float64(n.Files))
	for _, what := range ship.Waits {
		to <- prometheus.MustNewConstMetric(shipWaiting, prometheus.GaugeValue, float64(waiting[what]), what)
	}
	to <- prometheus.MustNewConstMetric(shipBytes, prometheus.CounterValue, float64(n.Bytes))
	to <- prometheus.MustNewConstMetric(shipMessages, prometheus.CounterValue, float64(n.Messages))
	to <- prometheus.MustNewConstMetric(shipFailures, prometheus.CounterValue, float64(n.Failures))
	to <- prometheus.MustNewConstMetric(shipArchived, prometheus.CounterValue, float64(n.Archived))
}

// healthy returns an error that names what the shipper waits for, or nil.
func healthy(s *ship.Shipper, conn *nats.Conn) error {
	if !conn.IsConnected() {
		return errors.New("NATS cannot be reached")
	}
	waiting := s.Waiting()
	if len(waiting) == 0 {
		return nil
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(waiting)) {
		all = append(all, fmt.Sprintf("%s: %d", what, waiting[what]))
	}
	return errors.New("files wait for " + strings.Join(all, ", "))
}
