import { realpathSync } from "node:fs";
import { isReachableByEverybody, readRegularFile } from "#adapters/files/index.ts";
import {
  type InspectedService,
  type KindQuery,
  type KindUnit,
  type Trigger,
  type UnitDetails,
  type UnitFile,
  type UnitKind,
  type UnitProcess,
  unitKinds,
} from "#domain/ports/unit-details.ts";
import { isPresent, type Unit, UnitRefused } from "#domain/ports/units.ts";
import type { ServicePolicy } from "#domain/system/service-policy.ts";
import { errorMessage } from "#kernel/errors.ts";
import { calls, kindInterface, serviceInterface, unitInterface } from "./calls.ts";
import { asProperties, type Properties, parseKind, parseProcesses, parseService } from "./details-parse.ts";
import { readMemory } from "./mirror.ts";
import { blankUnit, epochMs, parseListedUnit, sinceProperty, text, texts, withProperties } from "./parse.ts";
import type { Session } from "./session.ts";

type Ports = Pick<Session, "call" | "untilReady" | "list" | "installed"> & {
  readonly policy: ServicePolicy;
  readonly now: () => number;
};

/** So many are read; a unit with more is made by a program, for programs. */
const maxDropIns = 50;
const maxTriggers = 50;
const maxProcesses = 100;

const kindOf = (name: string): UnitKind | undefined => unitKinds.find((kind) => name.endsWith(`.${kind}`));

const propertiesOf = ({ call }: Ports, path: string, ofInterface: string): Promise<Properties> =>
  call(calls.getAll(path, ofInterface), ([value]) => asProperties(value));

async function readTrigger(ports: Ports, name: string): Promise<Trigger> {
  const path = await ports.call(calls.loadUnit(name), ([value]) => text(value));
  const activeState = ports.call(calls.get(path, unitInterface, "ActiveState"), ([value]) => text(value));
  return { name, ...(await readKind(ports, name, path)), activeState: await activeState };
}

/** The facts of the kind of a unit of this name; nothing where its kind has no facts. */
async function readKind(
  ports: Ports,
  name: string,
  path: string,
): Promise<Pick<KindUnit, "timer" | "socket" | "mount" | "path">> {
  const kind = kindOf(name);
  if (kind === undefined || !["timer", "socket", "mount", "path"].includes(kind)) return {};
  const facts = parseKind(kind, await propertiesOf(ports, path, kindInterface(name) ?? ""), ports.now());
  if (facts.socket === undefined) return facts;
  const units = await ports.call(calls.get(path, unitInterface, "Triggers"), ([value]) => texts(value));
  return { socket: { ...facts.socket, units } };
}

async function readProcesses(
  { call }: Ports,
  { name, controlGroup }: Pick<InspectedService, "name" | "controlGroup">,
): Promise<readonly UnitProcess[]> {
  if (controlGroup === "") return [];
  return call(calls.processes(name), ([list]) => parseProcesses(list)).catch((error: unknown) => {
    // It has ended since, and systemd has unloaded it.
    if (error instanceof UnitRefused) return [];
    throw error;
  });
}

async function inspect(ports: Ports, given: string): Promise<InspectedService> {
  await ports.untilReady();
  const path = await ports.call(calls.loadUnit(given), ([value]) => text(value));
  const [unit, service] = await Promise.all([
    propertiesOf(ports, path, unitInterface),
    propertiesOf(ports, path, serviceInterface),
  ]);
  const mirrored = withProperties(withProperties({ ...blankUnit(given), path }, unit), service);
  const facts = parseService(unit, service);
  const [triggers, processes] = await Promise.all([
    Promise.all(
      texts(unit["TriggeredBy"])
        .toSorted()
        .slice(0, maxTriggers)
        .map((each) => readTrigger(ports, each)),
    ),
    readProcesses(ports, mirrored),
  ]);
  const fragment = text(unit["FragmentPath"]);
  return {
    ...mirrored,
    ...facts,
    memoryBytes: readMemory(mirrored),
    refusal: ports.policy.refusal({ ...mirrored, names: facts.names }),
    fragment: fragment === "" ? undefined : readUnitFile(fragment),
    dropIns: texts(unit["DropInPaths"]).slice(0, maxDropIns).map(readUnitFile),
    triggers,
    processes: processes.slice(0, maxProcesses),
    processesTotal: processes.length,
  };
}

type Found = Omit<KindUnit, "kind" | "timer" | "socket" | "mount" | "path"> & { readonly path: string };

const asFound = ({ name, description, loadState, activeState, subState, unitFileState, since }: Unit): Found => ({
  ...{ name, description, loadState, activeState, subState, unitFileState, since },
  path: "",
  result: "",
});

/** Loaded units of kinds other than services, and unit files of theirs. */
async function otherKinds(ports: Ports, kinds: readonly UnitKind[]): Promise<readonly Found[]> {
  const patterns = kinds.map((kind) => `*.${kind}`);
  const rows = await ports.call(calls.listOfKinds(patterns), ([list]) => (Array.isArray(list) ? list : []));
  // Only now: that files have changed, systemd has said before it answered.
  const files = await ports.installed(kinds);
  const found = rows.flatMap((row) => parseListedUnit(row) ?? []).filter(isPresent);
  const loaded = found.map((unit) => ({
    ...asFound(unit),
    path: unit.path,
    unitFileState: files.get(unit.name)?.unitFileState ?? "",
  }));
  const names = new Set(loaded.map(({ name }) => name));
  const installed = [...files.values()].filter(({ name }) => !names.has(name)).map(asFound);
  return [...loaded, ...installed];
}

async function withFacts(ports: Ports, { path, ...unit }: Found): Promise<KindUnit> {
  const kind = kindOf(unit.name) ?? "service";
  if (kind === "service" || path === "") return { ...unit, kind };
  const { call } = ports;
  const ofKind = kindInterface(unit.name);
  const [since, result, facts] = await Promise.all([
    call(calls.get(path, unitInterface, sinceProperty(unit.activeState)), ([value]) => epochMs(value)),
    ofKind === undefined ? "" : call(calls.get(path, ofKind, "Result"), ([value]) => text(value)),
    readKind(ports, unit.name, path),
  ]);
  return { ...unit, kind, since, result, ...facts };
}

async function list(ports: Ports, { kinds, activeState, limit }: KindQuery) {
  await ports.untilReady();
  const others = kinds.filter((kind) => kind !== "service");
  // First, since it finds out whether files have changed.
  const ofOthers = others.length > 0 ? await otherKinds(ports, others) : [];
  const services = kinds.includes("service")
    ? (await ports.list()).filter(isPresent).map((unit) => ({ ...asFound(unit), result: unit.result }))
    : [];
  const all = [...services, ...ofOthers];
  const matching = all
    .filter((unit) => activeState === undefined || unit.activeState === activeState)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const units = await Promise.all(matching.slice(0, limit).map((unit) => withFacts(ports, unit)));
  return { units, total: matching.length };
}

/** Details of units over D-Bus; of services the listing is that of the mirror. */
export const createUnitDetails = (ports: Ports): UnitDetails => ({
  inspect: (name) => inspect(ports, name),
  list: (query) => list(ports, query),
});

const maxBytes = 64 * 1024;
const readableByOthers = 0o004;

/** A unit file as every user of the host may read it, regardless of the user of this process. */
function readUnitFile(path: string): UnitFile {
  const withheld = "it is shown only where every user of the host may read it";
  try {
    const { content, stat } = readRegularFile(path, { maxBytes });
    if ((stat.mode & readableByOthers) === 0 || !isReachableByEverybody(realpathSync(path))) return { path, withheld };
    return { path, text: content.toString("utf8") };
  } catch (error) {
    return { path, withheld: errorMessage(error) };
  }
}
