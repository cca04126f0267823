/** Where everything in the repository that the package takes as it is goes, with its mode there. */
export interface InstalledFile {
  readonly from: string;
  readonly to: string;
  readonly mode?: number;
}

/** Where the program is. */
export const libDirectory = "usr/lib/steward";
export const docDirectory = "usr/share/doc/steward";
/** Settings: what an administrator changed in them is kept. */
export const conffiles = ["/etc/apparmor.d/steward", "/etc/steward/config.yaml"];

/** Files and directories below the project. */
export const installedFiles: readonly InstalledFile[] = [
  { from: "deploy/apparmor/steward", to: "etc/apparmor.d/steward" },
  { from: "deploy/debian/config.yaml", to: "etc/steward/config.yaml" },
  { from: "deploy/debian/lintian-overrides", to: "usr/share/lintian/overrides/steward" },
  { from: "deploy/systemd/steward.service", to: "usr/lib/systemd/system/steward.service" },
  { from: "deploy/systemd/steward.socket", to: "usr/lib/systemd/system/steward.socket" },
  { from: "deploy/systemd/steward-root.socket", to: "usr/lib/systemd/system/steward-root.socket" },
  { from: "deploy/systemd/steward-task.socket", to: "usr/lib/systemd/system/steward-task.socket" },
  { from: "deploy/systemd/steward-task@.service", to: "usr/lib/systemd/system/steward-task@.service" },
  {
    from: "deploy/systemd/system-stewardtasks.slice",
    to: "usr/lib/systemd/system/system-stewardtasks.slice",
  },
  { from: "deploy/systemd/steward.sysusers.conf", to: "usr/lib/sysusers.d/steward.conf" },
  { from: "deploy/systemd/steward.tmpfiles.conf", to: "usr/lib/tmpfiles.d/steward.conf" },
  { from: "deploy/systemd/00-steward.rules", to: "usr/share/polkit-1/rules.d/00-steward.rules" },
  { from: "deploy/systemd/steward.dbus.conf", to: "usr/share/dbus-1/system.d/steward.conf" },
  { from: "examples", to: `${docDirectory}/examples` },
];

/** Directories that are there from the start, empty. */
export const installedDirectories = ["etc/steward/plugins", "etc/steward/runbooks"];

/** Links, with where they lead to. */
export const installedLinks: Readonly<Record<string, string>> = {
  "usr/bin/steward": "../lib/steward/main.js",
};
