import type { Plugin } from "#contract/plugins.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import type {
  ConfirmedPlugins,
  EnabledPlugin,
  EnabledPlugins,
  FoundPlugin,
  PluginCall,
  PluginDirectories,
  PluginSandbox,
} from "#domain/ports/plugins.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";
import { lazy } from "#kernel/async.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { createActivePlugins } from "./active-plugins.ts";
import { confirmationFault } from "./confirmation.ts";
import { changedFault, createGuardedRun, goneFault } from "./guarded-run.ts";
import type { ExtensionPoints, PluginCommand, RunResult } from "./plugin-kind.ts";
import { enabledFault, ownFault, type PluginRules, pluginView } from "./plugin-view.ts";

export interface PluginParts {
  readonly directories: PluginDirectories;
  readonly sandbox: PluginSandbox;
  readonly enabled: EnabledPlugins;
  /** Root's list; undefined where this process is root. */
  readonly confirmed?: ConfirmedPlugins | undefined;
}

/** A step that would be taken, or was; `message` says why not. */
export interface PluginStep {
  readonly plugin: Plugin;
  readonly success: boolean;
  readonly message: string;
  readonly digest?: string;
}

export type Plugins = ReturnType<typeof createPlugins>;

export interface PluginsPorts {
  /** Called on demand: most starts have no enabled plugin. */
  readonly load: () => Promise<PluginParts>;
  readonly points: Omit<ExtensionPoints, "commands">;
  readonly isSafeMode: boolean;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly onRun: (run: { readonly plugin: string; readonly result: RunResult }) => void;
  /** Called once with a description of the sandbox. */
  readonly onLoaded: (sandbox: string) => void;
  readonly onGone: (plugin: string) => void;
  /** Called with an enabled plugin that does not run. */
  readonly onFault: (fault: { readonly plugin: string; readonly fault: string }) => void;
}

/** How long after the start plugins that could not be inspected are inspected again. */
const againMs = 60_000;
/** What a hook may hold up of which nothing is known. Without checks nobody would know of anything. */
const changes = ["pre_fix", "pre_update", "pre_rollback"] as const;

interface State extends Omit<PluginsPorts, "points" | "load" | "onLoaded"> {
  readonly points: ExtensionPoints;
  readonly commands: Map<string, PluginCommand>;
  readonly active: ReturnType<typeof createActivePlugins>;
  /** Enabled ones that could not be inspected yet, and what removes the hooks in their places. */
  readonly unread: Map<string, Dispose>;
  /** Looks at these again. */
  again: Promise<void> | undefined;
  readonly stopping: AbortController;
  parts: PluginParts | undefined;
  readonly loaded: () => Promise<void>;
  turn: Promise<unknown>;
}

function partsOf({ parts }: Pick<State, "parts">): PluginParts {
  if (parts === undefined) throw new Error("cannot use plugins before they are loaded");
  return parts;
}

async function load(state: State): Promise<PluginParts> {
  await state.loaded();
  return partsOf(state);
}

function inTurn<T>(state: State, work: (parts: PluginParts) => Promise<T>): Promise<T> {
  const mine = state.turn.then(async () => work(await load(state)));
  state.turn = mine.catch(() => undefined);
  return mine;
}

const rulesOf = ({ points, isSafeMode }: State, { confirmed }: PluginParts): PluginRules => ({
  points,
  isSafeMode,
  confirmed,
});

const enabledOf = ({ enabled }: PluginParts, name: string): EnabledPlugin | undefined =>
  enabled.all().find((each) => each.name === name);

function viewOf(state: State, parts: PluginParts, name: string, found: FoundPlugin | undefined): Plugin {
  const type = state.active.get(name)?.manifest.role.type;
  return pluginView(rulesOf(state, parts), name, found, enabledOf(parts, name), type);
}

const isUnread = ({ loaded }: FoundPlugin): boolean => "fault" in loaded && loaded.isUnread === true;

/** The one of this name, or that an enabled one could not be inspected, by itself or with its directory. */
function foundOf(all: readonly FoundPlugin[], name: string, enabled: EnabledPlugin | undefined) {
  const one = all.find((each) => each.name === name);
  if (enabled === undefined || one?.path === enabled.path) return one;
  const { path } = enabled;
  const unread = all.filter(isUnread).find((each) => path === each.path || path.startsWith(`${each.path}/`));
  return unread === undefined ? one : { path, name, loaded: unread.loaded };
}

async function find(parts: PluginParts, name: string) {
  const before = enabledOf(parts, name);
  const one = foundOf(await parts.directories.find(), name, before);
  if (one === undefined && before === undefined)
    throw new DomainError("NOT_FOUND", `cannot find the plugin ${name}: no plugin directory has one`, { name });
  return { one, before };
}

function noLongerUnread({ unread }: State, name: string): void {
  unread.get(name)?.();
  unread.delete(name);
}

/** A hook that has no answer, in the place of one that cannot be inspected: it must not be as if there were none. */
function addUnread({ points, unread, onFault }: State, { name, hook }: EnabledPlugin, fault: string): void {
  if (unread.has(name)) return;
  onFault({ plugin: name, fault });
  const role = hook === undefined ? ({ events: changes, onFailure: "veto" } as const) : hook;
  const call = () => Promise.reject(new PluginNotRun(fault));
  unread.set(name, role === null ? () => undefined : points.hooks.add({ ...role, name, call }));
}

async function syncUnread(state: State): Promise<void> {
  const { clock, stopping, unread, onFault } = state;
  while (unread.size > 0) {
    await clock.sleep(againMs, stopping.signal);
    if (stopping.signal.aborted) return;
    await inTurn(state, (parts) => sync(state, parts, ({ name }) => unread.has(name))).catch((error: unknown) => {
      for (const plugin of unread.keys()) onFault({ plugin, fault: errorMessage(error) });
    });
  }
}

/**
 * Starts the enabled plugins that can be used. A changed one is kept without running: its check or hook has to fail, not to
 * disappear. So is one that cannot be inspected.
 */
async function sync(
  state: State,
  parts: PluginParts,
  isWanted: (plugin: EnabledPlugin) => boolean = () => true,
): Promise<void> {
  const { active, onFault } = state;
  const all = parts.enabled.all().filter(isWanted);
  const wanted = all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (wanted.length === 0) return;
  const found = await parts.directories.find();
  const rules = rulesOf(state, parts);
  for (const each of wanted) {
    const one = foundOf(found, each.name, each);
    const fault = enabledFault(rules, one, each);
    if (fault !== undefined && one !== undefined && isUnread(one)) {
      if (active.get(each.name) === undefined) addUnread(state, each, fault);
      continue;
    }
    if (fault !== undefined) onFault({ plugin: each.name, fault });
    if (one === undefined || "fault" in one.loaded || ownFault(rules, one) !== undefined) {
      await active.deactivate(each.name, new PluginNotRun(fault ?? goneFault));
    } else {
      const before = active.get(each.name)?.enabled;
      if (before?.path !== each.path || before.digest !== each.digest) await active.activate(each, one.loaded.manifest);
    }
    noLongerUnread(state, each.name);
  }
  state.again ??= syncUnread(state).finally(() => {
    state.again = undefined;
  });
}

async function listPlugins(state: State): Promise<readonly Plugin[]> {
  const parts = await load(state);
  const all = await parts.directories.find();
  const rules = rulesOf(state, parts);
  const seen = new Set<string>();
  const views = all.map((each) => {
    if (seen.has(each.name)) return pluginView(rules, each.name, each, undefined, undefined);
    seen.add(each.name);
    return viewOf(state, parts, each.name, each);
  });
  const gone = parts.enabled.all().filter(({ name }) => !seen.has(name));
  const goneViews = gone.map((each) => viewOf(state, parts, each.name, foundOf(all, each.name, each)));
  return [...views, ...goneViews].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** Why it cannot be started on this host. */
async function startTrouble(
  { sandbox }: PluginParts,
  call: Pick<PluginCall, "manifest" | "path" | "digest">,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    await sandbox.tryStart({ ...call, args: [], stdin: undefined }, signal);
    return undefined;
  } catch (error) {
    if (error instanceof PluginNotRun) return error.message;
    throw error;
  }
}

async function enable(
  state: State,
  parts: PluginParts,
  name: string,
  { isConfirmed, isDryRun }: { readonly isConfirmed: boolean; readonly isDryRun: boolean },
): Promise<PluginStep> {
  const { active } = state;
  const { one, before } = await find(parts, name);
  const refused = (why: string): PluginStep => ({
    plugin: viewOf(state, parts, name, one),
    success: false,
    message: `cannot enable ${name}: ${why}`,
  });
  const fault = one === undefined ? goneFault : ownFault(rulesOf(state, parts), one);
  if (one === undefined || "fault" in one.loaded || fault !== undefined) return refused(fault ?? goneFault);
  const { path } = one;
  const { manifest, digest } = one.loaded;
  if (manifest.permissions.user === "root" && !isConfirmed)
    throw invalid("confirm", "Must be true", `cannot enable ${name}: it runs as root, which must be confirmed`);
  const unconfirmed = confirmationFault(manifest, { path, digest }, parts.confirmed);
  if (unconfirmed !== undefined) return refused(unconfirmed);
  const isSame = before?.path === path && before.digest === digest;
  const isActive = isSame && active.get(name) !== undefined;
  const trouble = isActive ? undefined : await startTrouble(parts, { manifest, path, digest }, state.stopping.signal);
  if (trouble !== undefined) return refused(trouble);
  const done = (message: string): PluginStep => ({
    plugin: viewOf(state, parts, name, one),
    success: true,
    message,
    digest,
  });
  if (isDryRun) return done(isSame ? `${name} is enabled already` : `enable ${name} ${manifest.version}`);
  if (isActive) return done(`${name} is enabled already`);
  const { role } = manifest;
  const hook = role.type === "hook" ? { events: role.events, onFailure: role.onFailure } : null;
  const enabled = { name, path, digest, enabledAt: isSame ? before.enabledAt : state.clock.now(), hook };
  if (!isSame || before.hook === undefined) parts.enabled.save(enabled);
  await active.activate(enabled, manifest);
  noLongerUnread(state, name);
  return done(before === undefined ? `${name} is enabled` : `${name} is enabled as it is now`);
}

async function disable(state: State, parts: PluginParts, name: string, isDryRun: boolean): Promise<PluginStep> {
  const { one, before } = await find(parts, name);
  const done = (message: string): PluginStep => ({ plugin: viewOf(state, parts, name, one), success: true, message });
  if (before === undefined) return done(`${name} is not enabled`);
  if (isDryRun) return done(`disable ${name}`);
  parts.enabled.remove(name);
  noLongerUnread(state, name);
  await state.active.deactivate(name, new PluginNotRun("it was ended, since it has been disabled"));
  return done(`${name} is disabled`);
}

/** A command that can be run. @throws DomainError: `NOT_FOUND`, `VALIDATION_ERROR`, `UNAVAILABLE`. */
async function findCommand(state: State, name: string) {
  const parts = await load(state);
  const { one, before } = await find(parts, name);
  if (before === undefined) throw invalid("name", "Plugin is not enabled", `cannot run ${name}: it is not enabled`);
  const { type } = viewOf(state, parts, name, one);
  if (type !== "command")
    throw invalid("name", "Plugin is not a command", `cannot run ${name}: it is a ${type}, not a command`);
  const fault = enabledFault(rulesOf(state, parts), one, before);
  const command = state.commands.get(name);
  const manifest = state.active.get(name)?.manifest;
  if (fault === undefined && command !== undefined && manifest !== undefined) return { manifest, run: command.run };
  const reason = fault ?? "it is being changed just now";
  const retryable = fault === undefined || (one !== undefined && isUnread(one));
  throw new DomainError("UNAVAILABLE", `cannot run ${name}: ${reason}`, { reason, retryable });
}

export function createPlugins(ports: PluginsPorts) {
  const { isSafeMode, clock, onRun, onGone, onLoaded } = ports;
  const commands = new Map<string, PluginCommand>();
  const points: ExtensionPoints = {
    ...ports.points,
    commands: {
      add(command) {
        commands.set(command.name, command);
        return () => commands.delete(command.name);
      },
    },
  };
  /** What a changed plugin was when that was reported. */
  const reported = new Map<string, string>();
  const guarded = createGuardedRun({
    parts: () => partsOf(state),
    clock,
    onRun,
    onChanged(plugin, digest) {
      if (reported.get(plugin) === digest) return;
      reported.set(plugin, digest);
      ports.onFault({ plugin, fault: changedFault });
    },
  });
  const state: State = {
    ...ports,
    points,
    commands,
    active: createActivePlugins({ points, guarded, onGone }),
    unread: new Map(),
    again: undefined,
    stopping: new AbortController(),
    parts: undefined,
    loaded: lazy(async () => {
      state.parts = await ports.load();
      onLoaded(state.parts.sandbox.description);
    }),
    turn: Promise.resolve(),
  };

  return {
    start: (): Promise<void> => (isSafeMode ? Promise.resolve() : inTurn(state, (parts) => sync(state, parts))),
    list: (): Promise<readonly Plugin[]> => listPlugins(state),
    /** @throws DomainError: `NOT_FOUND`, `VALIDATION_ERROR` for one that asks for root without confirmation. */
    enable: (
      name: string,
      options: { readonly isConfirmed: boolean; readonly isDryRun: boolean },
    ): Promise<PluginStep> => inTurn(state, (parts) => enable(state, parts, name, options)),
    /** Resolves when nothing of it runs any more. @throws DomainError `NOT_FOUND`. */
    disable: (name: string, { isDryRun }: { readonly isDryRun: boolean }): Promise<PluginStep> =>
      inTurn(state, (parts) => disable(state, parts, name, isDryRun)),
    command: (name: string) => findCommand(state, name),
    replace: (directories: PluginDirectories): Promise<void> =>
      inTurn(state, async (parts) => {
        state.parts = { ...parts, directories };
        if (!isSafeMode) await sync(state, state.parts);
      }),
    running: state.active.running,
    /** Ends all runs and starts none any more; resolves when nothing is left. */
    stop: async (): Promise<void> => {
      state.stopping.abort();
      // One that is being disabled is no longer active, but may still run.
      await Promise.all([state.active.stop(new PluginNotRun("it was ended, since the service stops")), state.turn]);
    },
  };
}
