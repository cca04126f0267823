import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import { writeFileAtomic } from "#adapters/files/index.ts";

const lists = ["DPkg::Pre-Invoke", "DPkg::Post-Invoke"] as const;

/** The hooks of Debian's snapper package (0.10, Debian 12 to sid). No environment variable disables them. */
const ofSnapper: readonly string[] = [
  "if [ -e /etc/default/snapper ]; then . /etc/default/snapper; fi; if [ -x /usr/bin/snapper ] && [ ! x$DISABLE_APT_SNAPSHOT = 'xyes' ] && [ -e /etc/snapper/configs/root ]; then rm -f /var/tmp/snapper-apt || true ; snapper create -d apt -c number -t pre -p > /var/tmp/snapper-apt || true ; snapper cleanup number || true ; fi",
  "if [ -e /etc/default/snapper ]; then . /etc/default/snapper; fi; if [ -x /usr/bin/snapper ] && [ ! x$DISABLE_APT_SNAPSHOT = 'xyes' ] && [ -e /var/tmp/snapper-apt ]; then snapper create -d apt -c number -t post --pre-number=`cat /var/tmp/snapper-apt` || true ; snapper cleanup number || true ; fi",
];

interface Hook {
  readonly list: string;
  readonly command: string;
}

export interface SnapperHooks {
  /** Writes apt settings without snapper's hooks. @returns arguments for apt; none where there are no such hooks. */
  readonly leaveOut: (unit: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly forget: (unit: string) => Promise<void>;
}

function parseHook(line: string): Hook | undefined {
  const at = line.indexOf("::=");
  const list = lists.find((each) => each.toLowerCase() === line.slice(0, at).toLowerCase());
  const decoded = line
    .slice(at + 3)
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));
  return list && { list, command: decoded };
}

/** All commands in the order of apt; undefined when they cannot be told apart for sure. */
function parseHooks(text: string): readonly Hook[] | undefined {
  const isList = (line: string): boolean => lists.some((list) => line.toLowerCase() === `${list.toLowerCase()}=`);
  const entries = text.split("\n").filter((line) => line !== "" && !isList(line));
  const hooks = entries.map(parseHook);
  return hooks.every((hook) => hook !== undefined) ? hooks : undefined;
}

const isPlain = ({ command }: Hook): boolean => /^[\x20-\x7e]+$/.test(command) && !command.includes('"');

const areSame = (left: readonly Hook[], right: readonly Hook[]): boolean =>
  left.length === right.length &&
  left.every(({ list, command }, at) => list === right[at]?.list && command === right[at].command);

export function createSnapperHooks({ exec, folder }: { readonly exec: Exec; readonly folder: string }): SnapperHooks {
  const pathOf = (unit: string): string => join(folder, `${unit}.apt.conf`);
  const format = "--format=%F=%V%n";

  const read = async (signal: AbortSignal, ...settings: readonly string[]): Promise<readonly Hook[] | undefined> => {
    const { exitCode, stdout } = await exec(["/usr/bin/apt-config", "dump", format, ...settings, ...lists], { signal });
    return exitCode === 0 ? parseHooks(stdout) : undefined;
  };

  return {
    async leaveOut(unit, signal) {
      const hooks = (await read(signal)) ?? [];
      const others = hooks.filter(({ command }) => !ofSnapper.includes(command));
      if (hooks.length - others.length !== ofSnapper.length || !others.every(isPlain)) return [];
      const path = pathOf(unit);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const lines = [
        ...lists.map((list) => `#clear ${list};`),
        ...others.map(({ list, command }) => `${list}:: "${command}";`),
      ];
      writeFileAtomic(path, lines.map((line) => `${line}\n`).join(""));
      const settings = `--config-file=${path}`;
      return areSame((await read(signal, settings)) ?? [], others) ? [settings] : [];
    },
    forget: (unit) => rm(pathOf(unit), { force: true }),
  };
}
