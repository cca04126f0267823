import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readInstalledUnits } from "./offline.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "steward-units-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const file = (path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
const link = (path: string, target: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
};
const installable = "[Unit]\nDescription=Does it\n[Install]\nWantedBy=multi-user.target\n";

it("unit files are read without systemd, with their states", () => {
  const lib = "/usr/lib/systemd/system";
  const etc = "/etc/systemd/system";
  for (const name of ["on", "off", "tmp", "shadowed", "masked"]) file(`${lib}/${name}.service`, installable);
  file(`${lib}/fixed.service`, "[Unit]\nDescription=Fixed\n");
  file(`${lib}/other.service`, "[Install]\nAlso=on.service\n");
  file(`${lib}/tty@.service`, installable);
  file(`${etc}/shadowed.service`, "[Unit]\nDescription=Mine\n");
  link(`${etc}/masked.service`, "/dev/null");
  link(`${etc}/multi-user.target.wants/on.service`, `${lib}/on.service`);
  link(`${etc}/getty.target.wants/tty@tty1.service`, `${lib}/tty@.service`);
  link(`/run/systemd/system/multi-user.target.wants/tmp.service`, `${lib}/tmp.service`);
  link(`${lib}/alias.service`, "on.service");
  link(`${etc}/elsewhere.service`, "/opt/program.service");
  file("/opt/program.service", installable);
  file(`${lib}/on.socket`, "");
  const states = Object.fromEntries(readInstalledUnits(root).map(({ name, unitFileState }) => [name, unitFileState]));
  expect(states).toEqual({
    "elsewhere.service": "alias",
    "fixed.service": "static",
    "masked.service": "masked",
    "off.service": "disabled",
    "on.service": "enabled",
    "other.service": "indirect",
    "shadowed.service": "static",
    "tmp.service": "enabled-runtime",
    "tty@.service": "enabled",
  });
  expect(readInstalledUnits(root).find(({ name }) => name === "shadowed.service")).toMatchObject({
    description: "Mine",
    activeState: "inactive",
    mainPid: null,
  });
});

describe("unit files of this machine", () => {
  const systemctl = "/usr/bin/systemctl";
  it.skipIf(!existsSync(systemctl))("agrees with systemctl about every service", () => {
    const text = execFileSync(systemctl, ["--root=/", "list-unit-files", "--type=service", "-o", "json"], {
      encoding: "utf8",
    });
    const theirs = (JSON.parse(text) as { unit_file: string; state: string }[]).map(({ unit_file, state }) => [
      unit_file,
      state,
    ]);
    const ours = readInstalledUnits().map(({ name, unitFileState }) => [name, unitFileState]);
    const withoutAliases = (rows: readonly (readonly (string | undefined)[])[]) =>
      Object.fromEntries(rows.filter(([, state]) => state !== "alias"));
    expect(withoutAliases(ours)).toEqual(withoutAliases(theirs));
  });
});
