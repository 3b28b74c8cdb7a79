// Package faulttest has what tests of failures share: a network that breaks, a disk that gets full, and programs that a
// supervisor starts again.
package faulttest
