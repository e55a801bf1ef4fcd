#!/bin/sh
# Installs what targets of make need beyond Go, git and make, where it is missing: on Debian, as root.
# usage: internal/install.sh servers|tools|languages
set -eu
case $1 in
servers)
	programs="redis-server pgbouncer mariadbd faketime curl $(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null || echo postgres)"
	packages="redis-server postgresql pgbouncer mariadb-server faketime curl" ;;
tools)
	programs="qemu-x86_64 qemu-aarch64 qemu-s390x qemu-riscv64 qemu-arm objdump aarch64-linux-gnu-objdump chromium promtool systemd-analyze npm"
	packages="qemu-user binutils binutils-aarch64-linux-gnu chromium prometheus systemd npm" ;;
languages)
	programs="npm python3 openssl php ruby javac cc gunicorn uwsgi puma $(ls /usr/sbin/php-fpm* 2>/dev/null || echo php-fpm)"
	packages="npm python3 openssl php-cli php-apcu php-curl php-fpm ruby puma openjdk-17-jdk-headless gcc libc6-dev gunicorn uwsgi-core uwsgi-plugin-python3" ;;
esac
for program in $programs; do
	command -v "$program" >/dev/null || missing="${missing-} $program"
done
[ -n "${missing-}" ] || exit 0
# The packages of servers would start them: RUNLEVEL=1 prevents that.
# shellcheck disable=SC2086
{ apt-get update -q && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends -o Dpkg::Options::=--force-unsafe-io $packages; } || {
	echo "install these, which make can do only on Debian, as root and online:$missing (Debian's packages: $packages)" >&2
	exit 1
}
