#!/bin/sh
# Name and kernel of this host.
# usage: command.sh [--json]
set -eu

case $# in
  0) printf 'host %s\nkernel %s\n' "$(uname -n)" "$(uname -r)" ;;
  *)
    if [ "$#" != 1 ] || [ "$1" != --json ]; then
      echo 'usage: {{name}} [--json]' >&2
      exit 2
    fi
    # Neither has a character that JSON would have to escape.
    printf '{"host": "%s", "kernel": "%s"}\n' "$(uname -n)" "$(uname -r)"
    ;;
esac
