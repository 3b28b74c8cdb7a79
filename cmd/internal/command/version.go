package command

import (
	"runtime/debug"
	"strings"
)

// version is set when a release is built: go build -ldflags "-X github.com/replayd/replayd/cmd/internal/command.version=v1.2.3".
var version string

// Version returns version if it is set, or else the module's version, or else the commit.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	return versionIn(info)
}

func versionIn(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	name := "dev"
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			name += "-" + s.Value[:min(len(s.Value), 12)]
		case "vcs.modified":
			name = strings.TrimSuffix(name, "+dirty") + map[string]string{"true": "+dirty"}[s.Value]
		}
	}
	return name
}
