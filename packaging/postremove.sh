#!/bin/sh
set -e
if [ "$1" = purge ]; then
	deb-systemd-helper purge replayd.service replayd.socket replayd-nats.service 'replayd-ship@.service' >/dev/null
	rm -rf /var/lib/replayd /var/lib/private/replayd /var/cache/replayd /var/cache/private/replayd /etc/replayd
	rm -rf /var/lib/replayd-nats /var/lib/private/replayd-nats
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
