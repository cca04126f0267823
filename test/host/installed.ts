import { readFile } from "node:fs/promises";
import { installedPrograms } from "./program.ts";

/** Where the package has its program, and each file of `deploy/systemd/` its place. */
const packaged = "/usr/lib/steward/node /usr/lib/steward/main.js";
const places = {
  "steward.service": "/etc/systemd/system/steward.service",
  "steward.socket": "/etc/systemd/system/steward.socket",
  "steward-root.socket": "/etc/systemd/system/steward-root.socket",
  "steward-task.socket": "/etc/systemd/system/steward-task.socket",
  "steward-task@.service": "/etc/systemd/system/steward-task@.service",
  "system-stewardtasks.slice": "/etc/systemd/system/system-stewardtasks.slice",
  "steward.sysusers.conf": "/etc/sysusers.d/steward.conf",
  "steward.tmpfiles.conf": "/etc/tmpfiles.d/steward.conf",
  "00-steward.rules": "/usr/share/polkit-1/rules.d/00-steward.rules",
  "steward.dbus.conf": "/usr/share/dbus-1/system.d/steward.conf",
} as const;

/** What the package installs besides its program, as it is but for the path of that. */
export function installedFiles(): Promise<readonly { readonly path: string; readonly content: string }[]> {
  return Promise.all(
    Object.entries(places).map(async ([name, path]) => {
      const text = await readFile(new URL(`../../deploy/systemd/${name}`, import.meta.url), "utf8");
      return { path, content: text.replaceAll(packaged, installedPrograms.join(" ")) };
    }),
  );
}
