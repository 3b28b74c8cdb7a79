module github.com/replayd/replayd/bench/peers

go 1.26.0

require (
	github.com/dotabuff/manta v1.4.4
	github.com/icza/s2prot v1.5.2
	github.com/replayd/replayd v0.0.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/davecgh/go-spew v1.1.0 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/golang/snappy v1.0.0 // indirect
	github.com/icza/mpq v0.0.0-20230330132843-d3cdc0b651b7 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
)

replace github.com/replayd/replayd => ../..
