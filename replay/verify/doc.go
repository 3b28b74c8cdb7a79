// Package verify plays DDNet games again on their maps, and says of each player and each run whether the recording proves it.
//
//	find.go     reads maps
//	verify.go   plays a recording
//	report.go   what came out of it
package verify
