import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { BoundSocket, Exposure, UnitExamination } from "#domain/ports/unit-details.ts";
import { orElse } from "#kernel/errors.ts";
import { firstLine } from "#kernel/text.ts";

const timeoutMs = 10_000;
/** Groups below the one of a service: a container engine has one for each container. */
const mostGroups = 1_000;

/** The last line of `systemd-analyze security UNIT`: `→ Overall exposure level for cron.service: 9.6 UNSAFE 😨`. */
export function parseExposure(output: string): Exposure | undefined {
  const found = /Overall exposure level for \S+: (\d{1,2}(?:\.\d)?) ([A-Z]+)/.exec(output);
  return found === null ? undefined : { score: Number(found[1]), level: found[2] ?? "" };
}

/**
 * The listening sockets in a table of `ss -H -ltun --cgroup`, each with its control group: a path, or `unreachable:` and a number
 * in hexadecimal for those who may not look that number up.
 */
export function parseListening(table: string): readonly (BoundSocket & { readonly group: string })[] {
  return table.split("\n").flatMap((line) => {
    const [protocol, , , , local = "", , ...rest] = line.trim().split(/\s+/);
    if (protocol !== "tcp" && protocol !== "udp") return [];
    const group = rest.find((word) => word.startsWith("cgroup:"))?.slice("cgroup:".length) ?? "";
    const cut = local.lastIndexOf(":");
    const port = Number(local.slice(cut + 1));
    if (cut < 0 || !Number.isInteger(port)) return [];
    // A network device follows an address after `%`.
    const address = local.slice(0, cut).replaceAll(/[[\]]/g, "").replace(/%.*$/, "");
    return { protocol, address: address === "*" ? "::" : address, port, group };
  });
}

const roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/** Control groups at and below this one by their numbers, which are those of its directories; no more than so many. */
export function groupNumbers(controlGroup: string, most = mostGroups): ReadonlyMap<string, string> {
  const numbers = new Map<string, string>();
  const directories = roots.map((root) => ({ at: join(root, controlGroup), group: controlGroup }));
  for (const { at, group } of directories) {
    if (numbers.size >= most) break;
    const stat = statSync(at, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) continue;
    numbers.set(stat.ino.toString(16), group);
    const below = orElse(() => readdirSync(at, { withFileTypes: true }), []).filter((entry) => entry.isDirectory());
    directories.push(...below.map(({ name }) => ({ at: join(at, name), group: join(group, name) })));
  }
  return numbers;
}

const portOrder = (a: BoundSocket, b: BoundSocket): number =>
  a.port - b.port || (a.protocol + a.address < b.protocol + b.address ? -1 : 1);

/** What programs of the host say of a service. */
export function createUnitExamination({ exec }: { readonly exec: Exec }): UnitExamination {
  return {
    async exposure(name, signal) {
      const argv = ["systemd-analyze", "security", "--no-pager", "--", name] as const;
      const { exitCode, stdout, stderr } = await exec(argv, { signal, timeoutMs });
      const found = parseExposure(stdout);
      if (found === undefined)
        throw new Error(`cannot judge it: systemd-analyze ended with exit code ${exitCode} (${firstLine(stderr)})`);
      return found;
    },
    async listening(controlGroup, signal) {
      if (controlGroup === "") return [];
      const { exitCode, stdout, stderr } = await exec(["ss", "-H", "-ltun", "--cgroup"], { signal, timeoutMs });
      if (exitCode !== 0)
        throw new Error(`cannot list sockets: ss ended with exit code ${exitCode} (${firstLine(stderr)})`);
      const sockets = parseListening(stdout);
      if (sockets.length > 0 && sockets.every(({ group }) => group === ""))
        throw new Error("cannot tell whose sockets are whose: ss does not say their control groups");
      const numbers = groupNumbers(controlGroup);
      const isOfUnit = (group: string): boolean =>
        group.startsWith("unreachable:")
          ? numbers.has(group.slice("unreachable:".length))
          : group === controlGroup || group.startsWith(`${controlGroup}/`);
      return sockets
        .filter(({ group }) => isOfUnit(group))
        .map(({ protocol, address, port }) => ({ protocol, address, port }))
        .toSorted(portOrder);
    },
  };
}
