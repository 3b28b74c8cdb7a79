#!/bin/sh
set -e
if [ -d /run/systemd/system ] && [ "$1" = remove ]; then
	systemctl stop 'replayd-ship@*.service' || true
	deb-systemd-invoke stop replayd.socket replayd.service replayd-nats.service || true
fi
