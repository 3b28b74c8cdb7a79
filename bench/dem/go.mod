module github.com/replayd/replayd/bench/dem

go 1.26.0

require (
	github.com/dotabuff/manta v1.4.4
	github.com/replayd/replayd v0.0.0
)

require (
	github.com/davecgh/go-spew v1.1.0 // indirect
	github.com/golang/protobuf v1.5.2 // indirect
	github.com/golang/snappy v1.0.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/replayd/replayd => ../..
