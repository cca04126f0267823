import type {
  AlsoChanged,
  Confirmation,
  FoundUnit,
  NamedUnit,
  Unit,
  UnitFileChange,
  UnitFileJob,
  UnitFileVerb,
  UnitJob,
  UnitState,
  Units,
  UnitVerb,
} from "#domain/ports/units.ts";
import { nameOf, refusalOf, UnitProtected, UnitRefused, UnitsUnavailable, unconfirmed } from "#domain/ports/units.ts";
import { createServicePolicy, defaultServicePolicy } from "#domain/system/service-policy.ts";
import { defined } from "#kernel/values.ts";

/** How a fake unit behaves when it is changed. */
export interface FakeUnit extends Partial<Unit> {
  readonly name: string;
  /** Result of the job; `done` unless said. */
  readonly jobResult?: string;
  /** What the unit is like after the change. */
  readonly after?: Partial<Unit>;
  /** Whether it has hit its start limit: until it is reset, systemd does not even try. */
  readonly isLimited?: boolean;
  /** systemd refuses with this message. */
  readonly refusal?: string;
  /** Other names of it. */
  readonly aliases?: readonly string[];
  /** false for what may be requested by dependency only; `reload` unless it is true. */
  readonly can?: Partial<FoundUnit["can"]>;
  /** What changes with it. */
  readonly along?: readonly AlsoChanged[];
  /** false for one that ends by itself. */
  readonly staysActive?: boolean;
  /** Ports at which systemd waits for it. */
  readonly waitsAt?: UnitState["waitsAt"];
  /** false for one whose condition does not hold. */
  readonly isConditionMet?: boolean;
  /** systemd's Restart=. */
  readonly restart?: string;
  /** The path of its unit file. */
  readonly file?: string;
  /** Where that leads, if it is a link. */
  readonly linkedFile?: string;
}

export interface FakeUnits extends Units {
  /** Whether systemd answers. */
  available: boolean;
  absence: string | undefined;
  /** What was done, in order. */
  readonly actions: readonly string[];
  /** Changes a unit, or adds it. */
  readonly become: (name: string, changes: Partial<Unit>) => void;
  /** What changes with a unit from now on. */
  readonly join: (name: string, along: readonly AlsoChanged[]) => void;
}

const blank: Omit<Unit, "name"> = {
  description: "",
  loadState: "loaded",
  activeState: "inactive",
  subState: "dead",
  unitFileState: "disabled",
  mainPid: null,
  memoryBytes: null,
  restarts: 0,
  since: null,
  result: "success",
};

const running: Partial<Unit> = { activeState: "active", subState: "running", result: "success" };

const started = (mainPid: number): Partial<Unit> => ({ ...running, mainPid });
const stopped: Partial<Unit> = { activeState: "inactive", subState: "dead", result: "success", mainPid: null };

const afterFileChange: Readonly<Record<UnitFileVerb, Partial<Unit>>> = {
  enable: { unitFileState: "enabled" },
  disable: { unitFileState: "disabled" },
  mask: { unitFileState: "masked", loadState: "masked" },
  unmask: { unitFileState: "disabled", loadState: "loaded" },
};

const directory = "/etc/systemd/system";
const wants = (name: string): string => `${directory}/multi-user.target.wants/${name}`;
const fileChange: Readonly<Record<UnitFileVerb, (name: string) => UnitFileChange>> = {
  enable: (name) => ({ type: "symlink", path: wants(name), target: `/usr/lib/systemd/system/${name}` }),
  disable: (name) => ({ type: "unlink", path: wants(name), target: "" }),
  mask: (name) => ({ type: "symlink", path: `${directory}/${name}`, target: "/dev/null" }),
  unmask: (name) => ({ type: "unlink", path: `${directory}/${name}`, target: "" }),
};

/** A unit that runs, unless said otherwise. */
export const runningUnit = (name: string, changes: Partial<Unit> = {}): FakeUnit => ({ name, ...running, ...changes });

/** Units in memory. An unknown name reads as systemd reads it: not found. */
export function createFakeUnits(
  given: readonly FakeUnit[] = [],
  services: Parameters<typeof createServicePolicy>[0] = {},
): FakeUnits {
  const policy = createServicePolicy(services);
  const ownNames = new Map(given.flatMap(({ name, aliases = [] }) => aliases.map((alias) => [alias, name])));
  const behaviour = new Map(given.map((unit) => [unit.name, unit]));
  const units = new Map<string, Unit>(given.map((unit) => [unit.name, { ...blank, ...unit }]));
  const limited = new Set(given.filter(({ isLimited }) => isLimited).map(({ name }) => name));
  const actions: string[] = [];
  let lastPid = 1000;

  const answer = async <T>(value: () => T): Promise<T> => {
    await Promise.resolve();
    if (!fake.available) throw new UnitsUnavailable("the system bus does not answer", true);
    return value();
  };

  const become = (name: string, changes: Partial<Unit>): void => {
    units.set(name, { ...blank, ...units.get(name), name, ...changes });
  };

  const find = (asked: string): FoundUnit => {
    const name = ownNames.get(asked) ?? asked;
    const unit = units.get(name) ?? { ...blank, name, loadState: "not-found" };
    const subject = { ...unit, names: [name, ...(behaviour.get(name)?.aliases ?? [])] };
    const refusal = policy.refusal(subject);
    const isWidened = refusal === undefined && defaultServicePolicy.refusal(subject) !== undefined;
    const {
      can,
      isConditionMet = true,
      restart = "no",
      file = `/usr/lib/systemd/system/${name}`,
      linkedFile = "",
    } = behaviour.get(name) ?? {};
    const all = { start: true, stop: true, restart: true, reload: false, ...can };
    // Each change is a new run, as of systemd.
    const invocation = unit.since === null ? "" : String(unit.since);
    return { ...unit, refusal, isWidened, can: all, invocation, isConditionMet, restart, file, linkedFile };
  };

  const permitted = (
    verb: UnitVerb | UnitFileVerb,
    asked: NamedUnit,
    confirmation: Confirmation = unconfirmed,
  ): string => {
    const unit = typeof asked === "string" ? find(asked) : asked;
    const { name } = unit;
    const refusal = refusalOf(unit, confirmation, verb);
    if (refusal !== undefined) throw new UnitProtected(refusal);
    return name;
  };

  const loaded = (): readonly Unit[] | undefined => {
    const found = [...units.values()].filter(({ loadState }) => loadState !== "");
    return found.length === 0 ? undefined : found;
  };

  const change =
    (verb: UnitVerb): UnitJob =>
    (asked, _signal, confirmation) =>
      answer(() => {
        const name = permitted(verb, asked, confirmation);
        const { refusal, jobResult = "done", after } = behaviour.get(name) ?? {};
        if (refusal !== undefined) throw new UnitRefused(refusal);
        if (!units.has(name)) throw new UnitRefused(`Unit ${name} not found.`);
        actions.push(`${verb} ${name}`);
        if (limited.has(name) && verb !== "stop") return "failed";
        lastPid += 1;
        const usual = { start: started(lastPid), restart: started(lastPid), stop: stopped, reload: {} }[verb];
        become(name, { since: lastPid, ...(after ?? usual) });
        return jobResult;
      });

  const changeFile =
    (verb: UnitFileVerb): UnitFileJob =>
    (asked, confirmation) =>
      answer(() => {
        const name = permitted(verb, asked, confirmation);
        const { refusal } = behaviour.get(name) ?? {};
        if (refusal !== undefined) throw new UnitRefused(refusal);
        actions.push(`${verb} ${name}`);
        become(name, behaviour.get(name)?.after ?? afterFileChange[verb]);
        return [fileChange[verb](name)];
      });

  const fake: FakeUnits = {
    available: true,
    absence: undefined,
    actions,
    become,
    join: (name, along) => void behaviour.set(name, { ...behaviour.get(name), name, along }),
    loaded: () => answer(loaded),
    list: () => answer(() => [...units.values()].sort((a, b) => (a.name < b.name ? -1 : 1))),
    failed: () =>
      answer(() => {
        const failed = loaded()?.filter(({ activeState }) => activeState === "failed");
        return failed?.map(({ name, result }) => ({ name, result }));
      }),
    states: (also) =>
      answer(() => {
        const loaded = [...units.values()].filter(({ loadState }) => loadState !== "");
        if (loaded.length === 0) return undefined;
        const named = also
          .filter((name) => !units.has(name))
          .map((name) => ({ ...blank, name, loadState: "not-found" }));
        return [...loaded, ...named].map((unit) => ({
          ...unit,
          staysActive: unit.activeState === "active" && (behaviour.get(unit.name)?.staysActive ?? true),
          ...(unit.activeState === "active" && { hasFile: true as const }),
          ...defined({ waitsAt: behaviour.get(unit.name)?.waitsAt }),
        }));
      }),
    read: (name) => answer(() => find(name)),
    resetFailed: (unit) =>
      answer(() => {
        const name = nameOf(unit);
        actions.push(`reset ${name}`);
        limited.delete(name);
        become(name, { activeState: "inactive", subState: "dead", result: "success" });
      }),
    restart: change("restart"),
    start: change("start"),
    stop: change("stop"),
    reload: change("reload"),
    enable: changeFile("enable"),
    disable: changeFile("disable"),
    mask: changeFile("mask"),
    unmask: changeFile("unmask"),
    alsoChanged: (_verb, name) => answer(() => behaviour.get(name)?.along ?? []),
    restartDetached: (name) => answer(() => void actions.push(`restart ${permitted("restart", name)} detached`)),
    settled: (name) => answer(() => find(name)),
  };
  return fake;
}
