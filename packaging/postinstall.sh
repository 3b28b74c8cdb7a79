#!/bin/sh
# As debhelper does it: an administrator who has disabled the service, or forbids starting any (policy-rc.d), is obeyed.
set -e
if [ "$1" = configure ]; then
	if [ -z "$2" ]; then # the first time
		deb-systemd-helper enable replayd.service >/dev/null
	fi
	if [ -d /run/systemd/system ]; then
		systemctl daemon-reload
		action=start
		[ -z "$2" ] || action=restart
		deb-systemd-invoke $action replayd.service || true
		# The server of the queue is the administrator's to start.
		systemctl try-restart 'replayd-ship@*.service' || true
		! systemctl --quiet is-active replayd-nats.service || deb-systemd-invoke restart replayd-nats.service || true
	fi
fi
