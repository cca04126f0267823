#!/bin/sh
# Runs check.sh on folders made for it: sh test.sh
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

expect() { # EXIT-CODE OUTPUT ARGUMENT...
  code=$1 output=$2
  shift 2
  found=$("$here/check.sh" "$@")
  status=$?
  if [ "$status" = "$code" ] && [ "$found" = "$output" ]; then
    printf 'ok: %s\n' "$found"
  else
    printf 'FAILED: expected %s "%s", found %s "%s"\n' "$code" "$output" "$status" "$found"
    failed=1
  fi
}

expect 0 "{{label}} OK - 0 entries in $work | entries=0;1;2;0" --dir "$work" --warn 1 --crit 2
touch "$work/one" "$work/.two"
expect 1 "{{label}} WARNING - 2 entries in $work | entries=2;1;2;0" --dir "$work" --warn 1 --crit 2
ln -s nowhere "$work/a b"
expect 2 "{{label}} CRITICAL - 3 entries in $work | entries=3;1;2;0" --dir "$work" --warn 1 --crit 2
expect 3 "{{label}} UNKNOWN - cannot read the folder $work/none" --dir "$work/none" --warn 1 --crit 2
expect 3 "{{label}} UNKNOWN - --warn and --crit take numbers" --dir "$work" --warn many --crit 2
exit "$failed"
