#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	case "$1" in
	configure)
		if [ -z "$2" ]; then # the first time
			systemctl enable --now replayd.service || true
		else
			systemctl try-restart replayd.service || true
		fi
		;;
	esac
fi
