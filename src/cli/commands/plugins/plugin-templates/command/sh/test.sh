#!/bin/sh
# Runs command.sh: sh test.sh
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
failed=0

expect() { # EXIT-CODE OUTPUT ARGUMENT...
  code=$1 output=$2
  shift 2
  found=$("$here/command.sh" "$@" 2>&1)
  status=$?
  if [ "$status" = "$code" ] && [ "$found" = "$output" ]; then
    printf 'ok: %s\n' "$found"
  else
    printf 'FAILED: expected %s "%s", found %s "%s"\n' "$code" "$output" "$status" "$found"
    failed=1
  fi
}

expect 0 "host $(uname -n)
kernel $(uname -r)"
expect 0 "{\"host\": \"$(uname -n)\", \"kernel\": \"$(uname -r)\"}" --json
expect 2 'usage: {{name}} [--json]' --jason
expect 2 'usage: {{name}} [--json]' --json --json
exit "$failed"
