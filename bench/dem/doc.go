// Package dem makes demos for other decoders of Source 2, and has the scripts that compare what these read: README.md.
package dem
