#!/bin/sh
# Steward from a shell, with curl and jq alone. STEWARD_API_KEY holds the key, STEWARD_URL the address.
#
#   steward.sh health            how the host is; exit code 1 unless it is healthy
#   steward.sh processes         every process, page by page
#   steward.sh restart NAME      restart a service, once, however often the request must be sent
#   steward.sh update [--yes]    security updates: shows the plan, asks, installs, and follows to the end
set -eu

base=${STEWARD_URL:-http://127.0.0.1:8470}/api/v1
: "${STEWARD_API_KEY:?cannot ask the service: set STEWARD_API_KEY to a key (steward keys create)}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Names on a host are chosen by anyone who runs something there: without what would control a terminal.
plain() { tr -d '\000-\010\013-\037\177'; }

# The error of the answer, with every fault of the request.
explain() {
  jq -er '.error // empty | "\(.code): \(.message)",
    (.details.faults // [] | .[] | "  \(.field): \(.issue)" + if .did_you_mean then " (did you mean \(.did_you_mean)?)" else "" end)' \
    <"$work/body" 2>/dev/null || echo "status $1, and no answer of Steward"
}

# call METHOD PATH [CURL OPTION…]: prints the body of a success; says of anything else what the service said.
# The key goes over standard input, so that no list of processes shows it.
call() {
  method=$1 path=$2 tries=0
  shift 2
  while :; do
    status=$(printf 'X-API-Key: %s\n' "$STEWARD_API_KEY" |
      curl --silent --show-error --max-time 90 --request "$method" --header @- \
        --dump-header "$work/head" --output "$work/body" --write-out '%{http_code}' "$@" "$base$path") || return 2
    case $status in 2??) cat "$work/body" && return ;; esac
    # 429 always says how long to wait, 503 where that is known. What was refused like this has done nothing.
    after=$(tr -d '\r' <"$work/head" | sed -n 's/^retry-after: *\([0-9][0-9]*\)$/\1/Ip')
    tries=$((tries + 1))
    if [ -z "$after" ] || [ "$tries" -gt 5 ]; then
      explain "$status" | plain >&2
      return 1
    fi
    echo "the service is busy: again in $after s" >&2
    sleep "$after"
  done
}

# Names a request, so that the service does it once and answers a repetition as it answered the first.
idempotency_key() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }
field() { jq -r "$1" <"$work/answer" | plain; }

health() {
  call GET /health >"$work/answer"
  field '"\(.status), version \(.version), up for \(.uptime_seconds) s"'
  [ "$(field .status)" = healthy ]
}

processes() {
  cursor=
  while :; do
    call GET /system/processes --get --data sort=pid --data limit="${PAGE_SIZE:-100}" \
      ${cursor:+--data-urlencode "cursor=$cursor"} >"$work/answer"
    field '.processes[] | "\(.pid)\t\(.unit // "-")\t\(.name)"'
    cursor=$(field '.next_cursor // ""')
    [ -n "$cursor" ] || return 0
  done
}

restart() {
  name=$(jq -rn --arg name "$1" '$name | @uri')
  call POST "/system/services/$name/restart" --header "Idempotency-Key: $(idempotency_key)" >"$work/answer"
  field .message
  [ "$(field .success)" = true ]
}

# follow ID: waits for the end of an operation. Each request is answered when its status changes, or after 30 s. An update may
# restart the service, which is away briefly then.
follow() {
  lost=0
  while :; do
    code=0
    call GET "/operations/$1?wait=30s" >"$work/answer" || code=$?
    if [ "$code" -eq 2 ] && [ "$lost" -lt 30 ]; then
      lost=$((lost + 1))
      sleep 2
      continue
    fi
    [ "$code" -eq 0 ] || return "$code"
    lost=0
    case $(field .status) in
    done) return 0 ;;
    failed)
      field '"\(.error.code): \(.error.message)"' >&2
      return 1
      ;;
    *) field '"\(.status): \(.progress.step // "")"' ;;
    esac
  done
}

update() {
  wanted='{"type": "packages", "security_only": true}'
  call POST '/updates/apply?dry_run=true' --header 'Content-Type: application/json' --data "$wanted" >"$work/answer"
  if [ "$(field '.packages | length')" = 0 ]; then
    field '.reason // "no security updates"'
    return 0
  fi
  field '.steps[]'
  if [ "${1:-}" != --yes ]; then
    printf 'Do it? [y/N] '
    read -r reply && [ "$reply" = y ] || return 1
  fi
  # With the token of the plan the service does what that says, or refuses.
  set -- --header 'Content-Type: application/json' --data "$wanted" --header "X-Plan-Token: $(field .plan_token)"
  call POST /updates/apply "$@" --header 'Prefer: respond-async' \
    --header "Idempotency-Key: $(idempotency_key)" >"$work/answer"
  follow "$(field .id)"
  field '.result | "\(.packages_updated) updated, snapshot \(.snapshot_id)" + if .requires_reboot then ", reboot needed" else "" end'
  [ "$(field .result.success)" = true ]
}

command=${1:-help}
[ "$#" -eq 0 ] || shift
case $command in
health | processes | update) "$command" "$@" ;;
restart) restart "${1:?cannot restart: name a service}" ;;
*)
  sed -n 's/^# \{0,1\}//; 2,7p' "$0" >&2
  exit 2
  ;;
esac
