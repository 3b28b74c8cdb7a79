module github.com/replayd/replayd/tools/release

go 1.26.3

tool (
	github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
	github.com/goreleaser/goreleaser/v2
)
