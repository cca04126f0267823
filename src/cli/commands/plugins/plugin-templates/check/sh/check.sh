#!/bin/sh
# How many entries there are right below a folder.
# usage: check.sh --dir DIR --warn N --crit N
set -u

answer() { # WORD EXIT-CODE TEXT
  printf '{{label}} %s - %s\n' "$1" "$3"
  exit "$2"
}

dir='' warn='' crit=''
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || answer UNKNOWN 3 "no value for $1"
  case $1 in
    --dir) dir=$2 ;;
    --warn) warn=$2 ;;
    --crit) crit=$2 ;;
    *) answer UNKNOWN 3 "unknown option $1" ;;
  esac
  shift 2
done
for number in "$warn" "$crit"; do
  case $number in
    '' | *[!0-9]*) answer UNKNOWN 3 "--warn and --crit take numbers" ;;
  esac
done
if [ ! -d "$dir" ] || [ ! -r "$dir" ] || [ ! -x "$dir" ]; then
  answer UNKNOWN 3 "cannot read the folder $dir"
fi

count=0
for entry in "$dir"/* "$dir"/.[!.]* "$dir"/..?*; do
  # A pattern that nothing matches stays as it is.
  if [ -e "$entry" ] || [ -L "$entry" ]; then count=$((count + 1)); fi
done

text="$count entries in $dir | entries=$count;$warn;$crit;0"
if [ "$count" -gt "$crit" ]; then answer CRITICAL 2 "$text"; fi
if [ "$count" -gt "$warn" ]; then answer WARNING 1 "$text"; fi
answer OK 0 "$text"
