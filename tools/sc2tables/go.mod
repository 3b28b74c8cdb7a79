module github.com/replayd/replayd/tools/sc2tables

go 1.26.0

require github.com/replayd/replayd v0.0.0

require github.com/icza/s2prot v1.5.2

replace github.com/replayd/replayd => ../..
