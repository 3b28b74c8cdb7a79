#!/bin/sh
# Installs the newest release of replayd, or another one, for Linux or macOS:
#
#   curl -fsSL https://github.com/replayd/replayd/releases/latest/download/install.sh | sh
#   ... | sh -s -- --version 0.1.0 --prefix ~/.local
#
# The programs go to PREFIX/bin, the manuals and completions to PREFIX/share. PREFIX is /usr/local for root and where that may be
# written to, and else ~/.local. The archive must have the SHA-256 sum that the release lists: nothing is installed otherwise. What
# stands where it is installed is replaced a file at a time, as a whole. Call it again to update.
set -eu

releases=${REPLAYD_RELEASES:-https://github.com/replayd/replayd/releases}
version='' prefix='' work=''

fail() {
	echo "replayd is not installed: $*" >&2
	exit 1
}

# fetch URL FILE
fetch() {
	if command -v curl >/dev/null; then
		curl --fail --silent --show-error --location --retry 3 --output "$2" "$1"
	elif command -v wget >/dev/null; then
		wget --quiet --output-document "$2" "$1"
	else
		fail "curl or wget is needed"
	fi || fail "$1 cannot be fetched"
}

# sum FILE
sum() {
	if command -v sha256sum >/dev/null; then
		sha256sum <"$1"
	elif command -v shasum >/dev/null; then
		shasum -a 256 <"$1"
	elif command -v openssl >/dev/null; then
		openssl dgst -sha256 -r <"$1"
	else
		fail "sha256sum, shasum or openssl is needed"
	fi | cut -c 1-64
}

# put FILE DIRECTORY MODE
put() {
	mkdir -p "$2"
	draft=$2/.${1##*/}.$$
	cp "$1" "$draft"
	chmod "$3" "$draft"
	mv -f "$draft" "$2/${1##*/}"
}

main() {
	while [ $# -gt 0 ]; do
		case $1 in
		--version | --prefix) [ $# -gt 1 ] || fail "$1 needs a value" ;;
		*) fail "want --version VERSION and --prefix DIR, and not $1" ;;
		esac
		case $1 in
		--version) version=${2#v} ;;
		--prefix) prefix=$2 ;;
		esac
		shift 2
	done

	system=$(uname -s)
	case $system in
	Linux) system=linux ;;
	Darwin) system=darwin ;;
	*) fail "there is no archive for $system; pip install replayd has the program for Windows, too" ;;
	esac
	machine=$(uname -m)
	case $machine in
	x86_64 | amd64) machine=amd64 ;;
	aarch64 | arm64) machine=arm64 ;;
	*) fail "there is no archive for $machine" ;;
	esac
	if [ -z "$prefix" ]; then
		prefix=/usr/local
		[ "$(id -u)" -eq 0 ] || [ -w /usr/local/bin ] || prefix=${HOME:?}/.local
	fi

	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
	from=$releases/latest/download
	[ -z "$version" ] || from=$releases/download/v$version
	fetch "$from/SHA256SUMS" "$work/sums"
	archive=$(sed -n "s/^[0-9a-f]\{64\}  \(replayd_[0-9A-Za-z.+~-]*_${system}_$machine\.tar\.gz\)\$/\1/p" "$work/sums")
	[ -n "$archive" ] || fail "$from/SHA256SUMS lists no archive for $system, $machine"
	[ "$(echo "$archive" | wc -l)" -eq 1 ] || fail "$from/SHA256SUMS lists more than one archive for $system, $machine"
	want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/sums")
	fetch "$from/$archive" "$work/archive"
	got=$(sum "$work/archive")
	[ "$got" = "$want" ] || fail "$archive has the SHA-256 sum $got, and should have $want"

	mkdir "$work/unpacked"
	tar -xzf "$work/archive" -C "$work/unpacked"
	cd "$work/unpacked/${archive%.tar.gz}"
	for program in replayd replayd-*; do
		[ ! -f "$program" ] || put "$program" "$prefix/bin" 755
	done
	for manual in man/*.1; do
		[ ! -f "$manual" ] || put "$manual" "$prefix/share/man/man1" 644
	done
	for completion in completion/*.bash; do
		[ -f "$completion" ] || continue
		program=$(basename "$completion" .bash)
		cp "$completion" "$work/$program"
		put "$work/$program" "$prefix/share/bash-completion/completions" 644
	done
	for completion in completion/*.fish; do
		[ ! -f "$completion" ] || put "$completion" "$prefix/share/fish/vendor_completions.d" 644
	done
	installed=$("$prefix/bin/replayd" version) || fail "$prefix/bin/replayd does not run here"
	echo "$installed is installed: $prefix/bin/replayd"
	case :$PATH: in
	*:"$prefix/bin":*) echo "Try: replayd demo" ;;
	*) echo "Try: $prefix/bin/replayd demo   ($prefix/bin is not in PATH)" ;;
	esac
}

main "$@" # at the end, so that half of a script does nothing
