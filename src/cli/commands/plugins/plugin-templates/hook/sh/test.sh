#!/bin/sh
# Runs hook.sh with events made for it: sh test.sh
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

expect() { # EXIT-CODE OUTPUT EVENT
  found=$(printf '{"event": "%s", "at": "2026-01-01T00:00:00.000Z", "subject": {}}' "$3" | "$here/hook.sh" "$work/freeze")
  status=$?
  if [ "$status" = "$1" ] && [ "$found" = "$2" ]; then
    printf 'ok: %s %s\n' "$3" "$found"
  else
    printf 'FAILED: expected %s "%s", found %s "%s"\n' "$1" "$2" "$status" "$found"
    failed=1
  fi
}

expect 0 '' pre_update
printf 'end of "quarter"\nask Ada\n' > "$work/freeze"
expect 0 '{"veto": true, "reason": "end of quarter"}' pre_update
expect 0 '' post_update
: > "$work/freeze"
expect 0 '{"veto": true, "reason": "updates are frozen"}' pre_update
rm "$work/freeze"
mkdir "$work/freeze"
expect 0 '{"veto": true, "reason": "updates are frozen"}' pre_update 2> /dev/null
exit "$failed"
