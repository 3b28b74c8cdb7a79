module github.com/replayd/replayd/tools/release

go 1.26.0

tool github.com/goreleaser/goreleaser/v2
