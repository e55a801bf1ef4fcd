#!/bin/sh
# Installs what targets of make need beyond Go, git and make, where it is missing: on Debian, as root.
# usage: internal/tools/install.sh servers|tools|languages
set -eu
missing='' packages=''
# Whether a Python imports modules, and what to install if not.
imports() {
	for python in python3 /usr/bin/python3; do
		"$python" -c "import $1" 2>/dev/null && return
	done
	missing="$missing $1" packages="$packages $2"
}
# Each program with the packages of Debian that bring it.
case ${1:-} in
servers) wanted="redis-server:redis-server pgbouncer:pgbouncer mariadbd:mariadb-server faketime:faketime curl:curl
	$(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null || echo postgres):postgresql" ;;
tools) wanted="qemu-x86_64:qemu-user qemu-aarch64:qemu-user objdump:binutils aarch64-linux-gnu-objdump:binutils-aarch64-linux-gnu
	chromium:chromium promtool:prometheus systemd-analyze:systemd" ;;
languages) wanted="npm:npm python3:python3 javac:openjdk-17-jdk-headless cc:gcc,libc6-dev curl:curl"
	imports "setuptools, wheel, pip" "python3-pip python3-setuptools python3-wheel"
	imports pandas python3-pandas ;;
*) echo "install.sh: want servers, tools or languages" >&2; exit 1 ;;
esac
for program in $wanted; do
	command -v "${program%:*}" >/dev/null && continue
	missing="$missing ${program%:*}"
	packages="$packages $(echo "${program##*:}" | tr , ' ')"
done
[ -n "$missing" ] || exit 0
# The packages of servers would start them: RUNLEVEL=1 prevents that.
export RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
apt-get update -q && apt-get install -qy --no-install-recommends -o Dpkg::Options::=--force-unsafe-io $packages || {
	echo "install these, which make can do only on Debian, as root and online:$missing (Debian's packages:$packages)" >&2
	exit 1
}
