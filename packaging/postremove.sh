#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if [ "$1" = purge ]; then
	rm -rf /var/lib/replayd /var/lib/private/replayd /var/cache/replayd /var/cache/private/replayd /etc/replayd
fi
