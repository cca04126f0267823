import { readdirSync, readFileSync } from "node:fs";
import { escapeArgument } from "#adapters/exec/units.ts";
import { type PluginCall, PluginNotRun } from "#domain/ports/plugins.ts";
import { orElse } from "#kernel/errors.ts";
import { isPlain, whatLeadsElsewhere } from "./trust.ts";
import { type UnitPlace, unitProperties, workFolderOf } from "./unit-properties.ts";
import { environmentOf } from "./words.ts";

/** Directories that stay visible to a plugin with a capability to read: those with programs, and what the kernel shows. */
const staysVisible = /^\/(usr|bin|sbin|lib(32|64|x32)?|nix|gnu|proc|sys|dev|run|tmp|home|root)$/;

function topEntries(): { readonly topFolders: readonly string[]; readonly topFiles: readonly string[] } {
  const entries = readdirSync("/", { withFileTypes: true });
  const pathsOf = (kept: typeof entries): readonly string[] => kept.map(({ name }) => `/${name}`);
  return {
    topFolders: pathsOf(entries.filter((each) => each.isDirectory())).filter((path) => !staysVisible.test(path)),
    topFiles: pathsOf(entries.filter((each) => !each.isDirectory() && !each.isSymbolicLink())),
  };
}

/** False with cgroup v1, where systemd may have the memory controller or not. */
export const boundsMemory = (): boolean =>
  orElse(() => readFileSync("/sys/fs/cgroup/cgroup.controllers", "utf8"), "")
    .split(/\s+/)
    .includes("memory");

function requirePlain(paths: readonly string[]): void {
  const odd = paths.find((path) => !isPlain(path));
  if (odd === undefined) return;
  throw new PluginNotRun(
    `${JSON.stringify(odd)} cannot be kept from it: its name has other characters than A-Z a-z 0-9 . _ @ + , ~ -`,
  );
}

/** A link in the place of a requested path would open something else, with rights that nobody else has. */
function requireFixed(paths: readonly string[]): void {
  for (const path of paths) {
    const reason = whatLeadsElsewhere(path);
    if (reason !== undefined) throw new PluginNotRun(`it asks for ${path}, and ${reason}`);
  }
}

export type CommandPlace = Pick<UnitPlace, "ends" | "hidden" | "boundsMemory"> & {
  readonly partOf: string | undefined;
};

/** The command that runs a plugin in a unit of this name. @throws PluginNotRun when the unit would not contain it. */
export function unitCommand(unit: string, call: PluginCall, place: CommandPlace): readonly [string, ...string[]] {
  const { user, read, write } = call.manifest.permissions;
  const hasView = user !== "root" && read.length + write.length > 0;
  const top = topEntries();
  requirePlain([...place.hidden, call.path, ...(hasView ? [...top.topFolders, ...top.topFiles] : [])]);
  if (hasView) requireFixed([...read, ...write]);
  return [
    "systemd-run",
    "--pipe",
    "--wait",
    "--collect",
    "--quiet",
    "--no-ask-password",
    "--service-type=exec",
    `--unit=${unit}`,
    `--description=Steward plugin ${call.manifest.name}`,
    ...unitProperties(unit, call, { ...place, ...top }).map((property) => `--property=${property}`),
    ...(place.partOf === undefined ? [] : [`--property=PartOf=${place.partOf}`]),
    ...["--", "/usr/bin/env", "-i"],
    ...environmentOf(call, workFolderOf(call)),
    ...[...call.manifest.command, ...call.args].map(escapeArgument),
  ];
}
