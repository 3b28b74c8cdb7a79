#!/bin/sh
set -e
if [ "$1" = purge ]; then
	deb-systemd-helper purge replayd.service replayd.socket >/dev/null
	rm -rf /var/lib/replayd /var/lib/private/replayd /var/cache/replayd /var/cache/private/replayd /etc/replayd
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
