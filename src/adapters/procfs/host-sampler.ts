import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readTextFile } from "#adapters/files/index.ts";
import type { HostFacts } from "#domain/ports/host.ts";
import type { Absence, HostSample, HostSampler, Traffic } from "#domain/ports/host-samples.ts";
import { errorMessage, orElse } from "#kernel/errors.ts";
import type { ProcHostFacts } from "./index.ts";
import { parseDiskTraffic, parseLinkTraffic, parseLoad } from "./parse.ts";

/** After so many samples it is looked again which devices are real: names may be given to others. */
const samplesTrusted = 30;

/** Whether a disk is a device of its own, not one that is made of others or in memory. */
const isDisk = (sysDir: string, name: string): boolean =>
  existsSync(join(sysDir, "block", name.replaceAll("/", "!"), "device"));

interface LinkFacts {
  readonly isCard: boolean;
  readonly leadsOut: boolean;
}

/** A link is on top of another one where that has another number; the other one may be outside of the container. */
function linkFacts(sysDir: string, name: string): LinkFacts {
  const directory = join(sysDir, "class/net", name);
  const numberIn = (file: string): string => orElse(() => readTextFile(join(directory, file)).trim(), "");
  const isOnTop = numberIn("iflink") !== numberIn("ifindex");
  const isMember = existsSync(join(directory, "master"));
  // Some cards are two links, of which one is a member of the other and is counted in it.
  const isCard = existsSync(join(directory, "device")) && !isOnTop && !existsSync(join(directory, "master/device"));
  const isInside = (): boolean => orElse(() => readdirSync(directory), []).some((each) => each.startsWith("lower_"));
  return { isCard, leadsOut: isOnTop && !isMember && !isInside() };
}

/** What was found of a name, for some time. */
function createMemory<T>(find: (name: string) => T) {
  let [known, uses] = [new Map<string, T>(), 0];
  return {
    /** @returns those of a list, which is a sample, with what was found of them. */
    of(names: Iterable<string>): ReadonlyMap<string, T> {
      const before = uses % samplesTrusted === 0 ? new Map<string, T>() : known;
      uses += 1;
      known = new Map(Array.from(names, (name) => [name, before.get(name) ?? find(name)]));
      return known;
    },
  };
}

const those = (traffic: Traffic, isWanted: (name: string) => boolean): Traffic =>
  new Map([...traffic].filter(([name]) => isWanted(name)));

function createTraffic({ procDir, sysDir }: { readonly procDir: string; readonly sysDir: string }) {
  const disks = createMemory((name) => isDisk(sysDir, name));
  const links = createMemory((name) => linkFacts(sysDir, name));
  return {
    disks(): Traffic {
      const all = parseDiskTraffic(readTextFile(join(procDir, "diskstats")));
      const found = disks.of(all.keys());
      const own = those(all, (name) => found.get(name) === true);
      if (own.size === 0) throw new Error("this host has no disk of its own");
      return own;
    },
    links(): Traffic {
      const all = parseLinkTraffic(readTextFile(join(procDir, "net/dev")));
      const found = links.of(all.keys());
      const cards = those(all, (name) => found.get(name)?.isCard === true);
      const own = cards.size > 0 ? cards : those(all, (name) => found.get(name)?.leadsOut === true);
      if (own.size === 0) throw new Error("this host has no network card");
      return own;
    },
  };
}

/** What the kernel says of each resource; undefined where it does not measure pressure. */
type ReadPressure = () => Promise<
  readonly { readonly resource: string; readonly some: { readonly avg10: number } }[] | undefined
>;

async function samplePressure(read: ReadPressure): Promise<HostSample["pressure"]> {
  const found = await read();
  if (found === undefined) throw new Error("the kernel does not measure pressure (boot it with psi=1)");
  const of = (wanted: string): number | undefined => found.find(({ resource }) => resource === wanted)?.some.avg10;
  return { cpu: of("cpu"), memory: of("memory"), io: of("io") };
}

async function readMemory(host: Pick<HostFacts, "memory">): Promise<HostSample["memory"]> {
  const memory = await host.memory();
  if (memory.totalBytes === 0) throw new Error("the kernel does not say how much memory there is");
  return memory;
}

function readLoad(procDir: string): HostSample["load"] {
  const path = join(procDir, "loadavg");
  const load = parseLoad(readTextFile(path));
  if (load === undefined) throw new Error(`${path} has no load averages`);
  return load;
}

/** Files of procfs; those of sysfs say which devices are counted. */
export function createHostSampler(ports: {
  readonly host: Pick<HostFacts, "memory"> & Pick<ProcHostFacts, "cpuTimes">;
  readonly pressure: ReadPressure;
  readonly procDir?: string;
  readonly sysDir?: string;
}): HostSampler {
  const { host, pressure, procDir = "/proc", sysDir = "/sys" } = ports;
  const traffic = createTraffic({ procDir, sysDir });
  return {
    async sample(): Promise<HostSample> {
      const absences: Absence[] = [];
      const attempt = async <T>(of: Absence["of"], read: () => T | Promise<T>): Promise<T | undefined> => {
        try {
          return await read();
        } catch (error) {
          absences.push({ of, reason: errorMessage(error) });
          return undefined;
        }
      };
      const cpu = await attempt("cpu", host.cpuTimes);
      if (cpu !== undefined && cpu.ioWait === undefined)
        absences.push({ of: "ioWait", reason: "it is not counted for a container with a quota" });
      return {
        cpu,
        load: await attempt("load", () => readLoad(procDir)),
        disks: await attempt("disks", () => traffic.disks()),
        links: await attempt("links", () => traffic.links()),
        memory: await attempt("memory", () => readMemory(host)),
        pressure: await attempt("pressure", () => samplePressure(pressure)),
        absences,
      };
    },
  };
}
