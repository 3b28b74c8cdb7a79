// Package verify plays DDNet games again on their maps, and says of each player and each run whether the recording proves it.
//
//	map.go      maps for package physics; find.go finds them
//	verify.go   plays a recording
//	report.go   what came out of it
package verify
