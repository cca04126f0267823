/** A call to systemd, in the words of busctl: the member, the signature, the arguments. */
type Words = readonly [member: string, ...rest: string[]];

const task = (instance: string): string => `steward-task@${instance}.service`;
const operationId = "20260131-235959-999-1f2e3d4c";
const start = (unit: string): Words => ["StartUnit", "ss", unit, "replace"];
const restart = (unit: string): Words => ["RestartUnit", "ss", unit, "replace"];
const stop = (unit: string): Words => ["StopUnit", "ss", unit, "replace"];
const reload = (unit: string): Words => ["ReloadUnit", "ss", unit, "replace"];

/** What the user of the service may do with systemd: all of it. */
export const allowed: readonly Words[] = [
  stop("cron.service"),
  start("cron.service"),
  restart("cron.service"),
  ["ResetFailedUnit", "s", "cron.service"],
];

/** What it may not do, each by itself a way to root, or to the end of the host. */
export const refused: readonly Words[] = [
  ...[
    "debug-shell.service",
    "emergency.service",
    "rescue.service",
    "initrd-switch-root.service",
    "systemd-poweroff.service",
    "systemd-reboot.service",
    "systemd-halt.service",
    "systemd-kexec.service",
    "systemd-suspend.service",
    "systemd-hibernate.service",
    "systemd-firstboot.service",
    "systemd-storagetm.service",
    "systemd-factory-reset-request.service",
    "systemd-hibernate-resume.service",
    "systemd-volatile-root.service",
    "packagekit-offline-update.service",
    "modprobe@sctp.service",
    "reboot.target",
    "basic.target",
    "dbus.socket",
    "apt-daily.timer",
    "tmp.mount",
    task(operationId),
  ].map(restart),
  ...[
    "debug-shell.service",
    "modprobe@sctp.service",
    "reboot.target",
    "steward-task.socket",
    task(operationId),
    task("1-1-997"),
    task("--help"),
    task(".."),
  ].map(start),
  ...["dbus.service", "systemd-logind.service", "user@0.service", "steward-task.socket", task(operationId)].map(stop),
  ...["dbus.service", "systemd-logind.service", "cron.socket"].map(reload),
  ["TryRestartUnit", "ss", "debug-shell.service", "replace"],
  ["KillUnit", "ssi", "cron.service", "all", "9"],
  ["FreezeUnit", "s", "cron.service"],
  ["CleanUnit", "sas", "cron.service", "1", "all"],
  ["SetUnitProperties", "sba(sv)", "cron.service", "true", "1", "CPUWeight", "t", "50"],
  ["BindMountUnit", "sssbb", "cron.service", "/root", "/mnt", "false", "false"],
  [
    "StartTransientUnit",
    "ssa(sv)a(sa(sv))",
    "evil.service",
    "replace",
    ...["1", "ExecStart", "a(sasb)", "1", "/bin/touch", "2", "touch", "/root/evil", "false", "0"],
  ],
  ["EnableUnitFiles", "asbb", "1", "debug-shell.service", "true", "false"],
  ["DisableUnitFiles", "asb", "1", "cron.service", "true"],
  ["MaskUnitFiles", "asbb", "1", "cron.service", "true", "true"],
  ["LinkUnitFiles", "asbb", "1", "/var/lib/steward/evil.service", "true", "false"],
  ["SetDefaultTarget", "sb", "rescue.target", "true"],
  ["SetEnvironment", "as", "1", "LD_PRELOAD=/var/lib/steward/evil.so"],
  ["Reload"],
  ["Reexecute"],
  ["PowerOff"],
  ["Reboot"],
  ["SwitchRoot", "ss", "/var/lib/steward", "/sbin/init"],
];

/** The words as a row of the table names them. */
export const shown = ([member, , ...args]: Words): string => `${member} ${args.slice(0, 2).join(" ")}`.trim();

/** Calls to other programs on the system bus that change the host, as busctl takes them: destination, object, interface, … */
export const systemCalls: readonly (readonly string[])[] = [
  ...[
    ["SetUserLinger", "ubb", "0", "true", "false"],
    ["PowerOff", "b", "false"],
    ["Reboot", "b", "false"],
    ["SetWallMessage", "sb", "x", "true"],
    ["ScheduleShutdown", "st", "reboot", "99999999999999999"],
    ["KillUser", "ui", "0", "15"],
    ["TerminateUser", "u", "65534"],
    ["FlushDevices"],
    ["SetRebootToFirmwareSetup", "b", "true"],
    ["Inhibit", "ssss", "shutdown:sleep", "x", "x", "block"],
  ].map((rest) => ["org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager", ...rest]),
  ...[
    ["SetHostname", "sb", "x", "false"],
    ["SetStaticHostname", "sb", "x", "false"],
    ["SetPrettyHostname", "sb", "x", "false"],
    ["GetProductUUID", "b", "false"],
  ].map((rest) => ["org.freedesktop.hostname1", "/org/freedesktop/hostname1", "org.freedesktop.hostname1", ...rest]),
  ...[
    ["SetTimezone", "sb", "Asia/Tokyo", "false"],
    ["SetNTP", "bb", "false", "false"],
    ["SetTime", "xbb", "0", "false", "false"],
  ].map((rest) => ["org.freedesktop.timedate1", "/org/freedesktop/timedate1", "org.freedesktop.timedate1", ...rest]),
  ...[["SetLocale", "asb", "1", "LANG=C", "false"]].map((rest) => [
    ...["org.freedesktop.locale1", "/org/freedesktop/locale1", "org.freedesktop.locale1"],
    ...rest,
  ]),
];

/** Commands that the service, or a monitoring plugin in it, reads the state of the host with. */
export const reachable: readonly string[] = [
  "systemctl show cron.service",
  "systemctl status cron.service",
  "systemctl list-units --all",
  "systemctl list-unit-files",
  "systemctl is-active cron.service",
  "systemctl restart --no-ask-password cron.service",
  "timedatectl show",
];
