module github.com/replayd/replayd/bench/sc2replay

go 1.26.0

require (
	github.com/icza/s2prot v1.5.2
	github.com/replayd/replayd v0.0.0
)

require github.com/icza/mpq v0.0.0-20230330132843-d3cdc0b651b7 // indirect

replace github.com/replayd/replayd => ../..
