import { readdir, readFile, stat } from "node:fs/promises";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { errorMessage, orUndefined } from "#kernel/errors.ts";
import { judgeLayout, type RootLayout } from "./layout.ts";
import { parseConfigOf } from "./parse.ts";
import { createPrograms, runProgram } from "./programs.ts";
import { filledNested, nestedReason } from "./usable.ts";

export type SnapperFound =
  | { readonly isUsable: true; readonly config: string; readonly layout: RootLayout }
  | { readonly isUsable: false; readonly reason: string };

const pluginFolder = "/usr/lib/snapper/plugins";

/** What is told of a rollback by snapper's own command only; the menu of GRUB is brought up to date for each snapshot. */
async function rollbackPlugins(): Promise<readonly string[]> {
  return ((await orUndefined(readdir(pluginFolder))) ?? []).filter((name) => name !== "grub");
}

async function outsideRoot(folders: readonly string[]): Promise<readonly string[]> {
  const { dev } = await stat("/");
  const devices = await Promise.all(folders.map(async (folder) => (await stat(folder)).dev));
  return folders.filter((_, at) => devices[at] !== dev);
}

async function configOfRoot(
  exec: Exec,
  isBusGone: boolean,
  signal: AbortSignal,
): Promise<{ readonly config: string } | { readonly reason: string }> {
  try {
    const how = [...(isBusGone ? ["--no-dbus"] : []), "--jsonout"];
    const listed = await runProgram(exec, ["snapper", ...how, "list-configs"], { signal });
    const config = parseConfigOf(listed, "/");
    if (config === undefined) return { reason: "snapper has no configuration for /" };
    // Another user sees the names of the configurations, but no snapshots.
    await createPrograms({ exec, config, isBusGone }).list(signal);
    return { config };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CommandFailed && /ENOENT/.test(error.message)) return { reason: "snapper is not installed" };
    return { reason: `snapper does not answer: ${errorMessage(error)}` };
  }
}

/** Whether snapper can keep snapshots that a rollback can return to without losing files. */
export async function detectSnapper(
  {
    exec,
    packageDatabase,
    carried = [],
    isBusGone = false,
  }: {
    readonly exec: Exec;
    readonly packageDatabase: string;
    readonly carried?: readonly string[];
    readonly isBusGone?: boolean;
  },
  signal: AbortSignal,
): Promise<SnapperFound> {
  const no = (reason: string): SnapperFound => ({ isUsable: false, reason });
  const configured = await configOfRoot(exec, isBusGone, signal);
  if ("reason" in configured) return no(configured.reason);
  const paths = ["/proc/self/mountinfo", "/proc/cmdline", "/etc/fstab"] as const;
  const [mountinfo = "", cmdline = "", fstab = ""] = await Promise.all(paths.map((path) => readFile(path, "utf8")));
  const judged = judgeLayout({ mountinfo, cmdline, fstab });
  if ("reason" in judged) return no(judged.reason);
  const outside = await outsideRoot(["/usr", "/etc", packageDatabase]);
  if (outside.length > 0) return no(`${outside.join(", ")}: not in the subvolume of /, and would not return with it`);
  const plugins = await rollbackPlugins();
  if (plugins.length > 0)
    return no(`${plugins.join(", ")} in ${pluginFolder} has to be told of a rollback by snapper itself`);
  const { config } = configured;
  const { layout } = judged;
  const programs = createPrograms({ exec, config });
  const nested = await filledNested(programs, layout, carried, signal);
  return nested.length > 0 ? no(nestedReason(nested)) : { isUsable: true, config, layout };
}
