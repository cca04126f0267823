# User managers and logins of the service's user are outside of its sandbox: ends those that run, and lets none start at boot.
end_logins() {
  rm -f /var/lib/systemd/linger/steward
  if [ -d /run/systemd/system ] && uid=$(id -u steward 2>/dev/null); then
    systemctl stop "user-$uid.slice" "user@$uid.service" "user-runtime-dir@$uid.service"
  fi
}
