#!/bin/sh
# Says no to updates while a file exists; its first line is the reason.
# usage: hook.sh FILE < EVENT
set -eu

event=$(cat)
case $event in
  *'"pre_update"'*) ;;
  *) exit 0 ;;
esac
if [ ! -e "$1" ]; then exit 0; fi

# What JSON would have to escape is left out.
reason=$(head -n 1 -- "$1" | tr -d '"\\[:cntrl:]')
printf '{"veto": true, "reason": "%s"}\n' "${reason:-updates are frozen}"
