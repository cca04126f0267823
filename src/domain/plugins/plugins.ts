import type { Plugin, PluginType } from "#contract/plugins.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { confirmationFault } from "./confirmation.ts";
import { changedFault, createGuardedRun, goneFault } from "./guarded-run.ts";
import { pluginKinds } from "./kinds-registry.ts";
import { permissionWords } from "./permissions.ts";
import type { ExtensionPoints, LoadedPlugin, PluginCommand, PluginInput, Roles, RunResult } from "./plugin-kind.ts";
import type {
  ConfirmedPlugins,
  EnabledPlugin,
  EnabledPlugins,
  FoundPlugin,
  PluginCall,
  PluginEnd,
  PluginFolders,
  PluginManifest,
  PluginSandbox,
} from "./ports.ts";
import { PluginNotRun } from "./ports.ts";

/** What of this host plugins are made of. */
export interface PluginParts {
  readonly folders: PluginFolders;
  readonly sandbox: PluginSandbox;
  readonly enabled: EnabledPlugins;
  /** Root's own list; undefined where this process is root. */
  readonly confirmed?: ConfirmedPlugins | undefined;
}

/** What would be done, or was: `success` false says why not. */
export interface PluginStep {
  readonly plugin: Plugin;
  readonly success: boolean;
  readonly message: string;
  /** Of what was enabled. */
  readonly digest?: string;
}

export interface Plugins {
  /** Makes the enabled ones part of the service. */
  readonly start: () => Promise<void>;
  readonly list: () => Promise<readonly Plugin[]>;
  /** @throws DomainError: `NOT_FOUND`, `VALIDATION_ERROR` for one that asks for root and is not confirmed. */
  readonly enable: (
    name: string,
    options: { readonly isConfirmed: boolean; readonly isDryRun: boolean },
  ) => Promise<PluginStep>;
  /** What of it runs is ended when the promise settles. @throws DomainError `NOT_FOUND`. */
  readonly disable: (name: string, options: { readonly isDryRun: boolean }) => Promise<PluginStep>;
  /** A command that may be run. @throws DomainError: `NOT_FOUND`, `VALIDATION_ERROR`, `UNAVAILABLE`. */
  readonly command: (name: string) => Promise<{
    readonly manifest: PluginManifest;
    readonly run: (input: PluginInput, signal: AbortSignal) => Promise<PluginEnd>;
  }>;
  /** Puts other folders in place of those that there are. What is the same in both goes on. */
  readonly replace: (folders: PluginFolders) => Promise<void>;
  /** The names of those that run just now. */
  readonly running: () => readonly string[];
  /** Ends what runs, for the end of the process, and lets nothing begin any more; resolves when nothing of it is left. */
  readonly stop: () => Promise<void>;
}

/** An enabled plugin that is part of the service. */
interface Active {
  readonly enabled: EnabledPlugin;
  readonly manifest: PluginManifest;
  /** Takes it out, and resolves when nothing of it runs any more. */
  readonly stop: (reason: PluginNotRun) => Promise<void>;
}

const safeModeFault = "safe mode: the service was started without plugins";

const connect = <T extends PluginType>(
  type: T,
  role: Roles[T],
  plugin: LoadedPlugin,
  points: ExtensionPoints,
): Dispose => pluginKinds[type].connect(plugin, role, points);

/** What is listed of one whose manifest cannot be read. */
const unreadable = (name: string, path: string, type: PluginType | undefined) => ({
  name,
  version: "",
  type: type ?? "command",
  author: "",
  description: "",
  permissions: [],
  needs_confirmation: false,
  path,
});

const described = (manifest: PluginManifest, path: string) => ({
  name: manifest.name,
  version: manifest.version,
  type: manifest.role.type,
  author: manifest.author,
  description: manifest.description,
  permissions: [...permissionWords(manifest.permissions)],
  needs_confirmation: manifest.permissions.user === "root",
  path,
});

/** The plugins of this host, and which of them are part of the service. */
export function createPlugins(ports: {
  /** On demand: where no plugin is enabled, a start has no use for it. */
  readonly load: () => Promise<PluginParts>;
  readonly points: Omit<ExtensionPoints, "commands">;
  /** Whether the service was told to start with none. */
  readonly isSafeMode: boolean;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly onRun: (run: { readonly plugin: string; readonly result: RunResult }) => void;
  /** Is told, once, what plugins are kept from on this host. */
  readonly onLoaded: (sandbox: string) => void;
  /** Is told of one that is no part of the service any more. */
  readonly onGone: (plugin: string) => void;
  /** Is told of an enabled one that does not run. */
  readonly onFault: (fault: { readonly plugin: string; readonly fault: string }) => void;
}): Plugins {
  const { isSafeMode, clock, onGone, onFault } = ports;
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
  const active = new Map<string, Active>();
  let loading: Promise<void> | undefined;
  let parts: PluginParts | undefined;
  const underWay = new Set<{ readonly plugin: string }>();
  const stopping = new AbortController();
  let turn: Promise<unknown> = Promise.resolve();

  const need = (): PluginParts => {
    if (parts === undefined) throw new Error("cannot use plugins before they are loaded");
    return parts;
  };
  const loaded = async (): Promise<PluginParts> => {
    loading ??= ports.load().then((each) => {
      parts = each;
      ports.onLoaded(each.sandbox.description);
    });
    // Asked for again after a failure: what was in its way may be gone.
    await loading.catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return need();
  };
  const guarded = createGuardedRun({ parts: need, clock, onRun: ports.onRun });

  /** Changes are made one after the other: each sees what the one before has left. */
  const inTurn = <T>(work: (parts: PluginParts) => Promise<T>): Promise<T> => {
    const mine = turn.then(async () => work(await loaded()));
    turn = mine.catch(() => undefined);
    return mine;
  };

  /** Why it cannot be part of this service, enabled or not. */
  const ownFault = ({ loaded: found }: FoundPlugin): string | undefined => {
    if ("fault" in found) return found.fault;
    const { manifest } = found;
    return pluginKinds[manifest.role.type].faultOf(manifest, points) ?? (isSafeMode ? safeModeFault : undefined);
  };
  /** Why an enabled one does not run. */
  const faultOf = (found: FoundPlugin | undefined, enabled: EnabledPlugin): string | undefined => {
    if (found === undefined) return goneFault;
    const fault = ownFault(found);
    if (fault !== undefined) return fault;
    if (found.path !== enabled.path)
      return `it was enabled from ${enabled.path}, and now another folder comes first: enable it again to accept that`;
    if ("fault" in found.loaded) return undefined;
    const { manifest, digest } = found.loaded;
    return digest === enabled.digest
      ? confirmationFault(manifest, { path: found.path, digest }, need().confirmed)
      : changedFault;
  };

  const enabledOf = ({ enabled }: PluginParts, name: string): EnabledPlugin | undefined =>
    enabled.all().find((each) => each.name === name);

  const viewOf = (found: FoundPlugin, enabled: EnabledPlugin | undefined): Plugin => {
    const { path, name, loaded: content } = found;
    const fault = (enabled === undefined ? ownFault(found) : faultOf(found, enabled)) ?? null;
    const about =
      "fault" in content ? unreadable(name, path, content.type) : { ...described(content.manifest, path), name };
    return { ...about, enabled: enabled !== undefined, fault };
  };
  const goneView = ({ name, path }: EnabledPlugin): Plugin => ({
    ...unreadable(name, path, active.get(name)?.manifest.role.type),
    enabled: true,
    fault: goneFault,
  });

  const deactivate = async (name: string, reason: PluginNotRun): Promise<void> => {
    const one = active.get(name);
    if (one === undefined) return;
    active.delete(name);
    await one.stop(reason);
    onGone(name);
  };

  const activate = async (enabled: EnabledPlugin, manifest: PluginManifest): Promise<void> => {
    await deactivate(enabled.name, new PluginNotRun("it was enabled anew meanwhile"));
    // Enabled it stays, for the next start.
    if (stopping.signal.aborted) return;
    const over = new AbortController();
    const runs = new Set<Promise<unknown>>();
    const begin = guarded(enabled, manifest, over.signal);
    const run: LoadedPlugin["run"] = async (input, read, signal) => {
      const work = begin(input, read, signal);
      const mine = { plugin: manifest.name };
      runs.add(work);
      underWay.add(mine);
      try {
        return await work;
      } finally {
        runs.delete(work);
        underWay.delete(mine);
      }
    };
    const release = connect(manifest.role.type, manifest.role, { manifest, run }, points);
    active.set(enabled.name, {
      enabled,
      manifest,
      async stop(reason) {
        release();
        over.abort(reason);
        await Promise.allSettled([...runs]);
      },
    });
  };

  /**
   * Makes those part of the service that are enabled and can be. One that has changed is there as well: it does not run, and
   * whoever relies on its check or its hook is to see that, not to miss it.
   */
  const sync = async ({ folders, enabled }: PluginParts): Promise<void> => {
    const wanted = enabled.all().toSorted((a, b) => (a.name < b.name ? -1 : 1));
    if (wanted.length === 0) return;
    const found = await folders.find();
    for (const each of wanted) {
      const one = found.find(({ name }) => name === each.name);
      const fault = faultOf(one, each);
      if (fault !== undefined) onFault({ plugin: each.name, fault });
      if (one === undefined || "fault" in one.loaded || ownFault(one) !== undefined) {
        await deactivate(each.name, new PluginNotRun(fault ?? goneFault));
        continue;
      }
      const before = active.get(each.name)?.enabled;
      if (before?.path !== each.path || before.digest !== each.digest) await activate(each, one.loaded.manifest);
    }
  };

  const found = async ({ folders, enabled }: PluginParts, name: string) => {
    const one = (await folders.find()).find((each) => each.name === name);
    const before = enabled.all().find((each) => each.name === name);
    if (one === undefined && before === undefined)
      throw new DomainError("NOT_FOUND", `cannot find the plugin ${name}: no plugin folder has one`, { name });
    return { one, before };
  };
  const viewNow = (one: FoundPlugin | undefined, enabled: EnabledPlugin | undefined, name: string): Plugin => {
    if (one !== undefined) return viewOf(one, enabled);
    if (enabled !== undefined) return goneView(enabled);
    return { ...unreadable(name, "", undefined), enabled: false, fault: goneFault };
  };

  /** Why it could not be started as it is now, on this host. */
  const startTrouble = async (
    { sandbox }: PluginParts,
    call: Pick<PluginCall, "manifest" | "path" | "digest">,
  ): Promise<string | undefined> => {
    try {
      await sandbox.tryStart({ ...call, args: [], stdin: undefined }, stopping.signal);
      return undefined;
    } catch (error) {
      if (error instanceof PluginNotRun) return error.message;
      throw error;
    }
  };

  return {
    start: () => (isSafeMode ? Promise.resolve() : inTurn(sync)),

    async list() {
      const { folders, enabled } = await loaded();
      const all = await folders.find();
      const seen = new Set<string>();
      const wanted = new Map(enabled.all().map((each) => [each.name, each]));
      const views = all.map((each) => {
        const isFirst = !seen.has(each.name);
        seen.add(each.name);
        return viewOf(each, isFirst ? wanted.get(each.name) : undefined);
      });
      const gone = [...wanted.values()].filter(({ name }) => !seen.has(name)).map(goneView);
      return [...views, ...gone].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    },

    enable: (name, { isConfirmed, isDryRun }) =>
      inTurn(async (all) => {
        const { one, before } = await found(all, name);
        const fault = one === undefined ? goneFault : ownFault(one);
        if (one === undefined || "fault" in one.loaded || fault !== undefined) {
          const message = `cannot enable ${name}: ${fault ?? goneFault}`;
          return { plugin: viewNow(one, before, name), success: false, message };
        }
        const { manifest, digest } = one.loaded;
        if (manifest.permissions.user === "root" && !isConfirmed)
          throw invalid("confirm", "Must be true", `cannot enable ${name}: it runs as root, which has to be confirmed`);
        const unconfirmed = confirmationFault(manifest, { path: one.path, digest }, all.confirmed);
        if (unconfirmed !== undefined) {
          const message = `cannot enable ${name}: ${unconfirmed}`;
          return { plugin: viewNow(one, before, name), success: false, message };
        }
        const isSame = before?.path === one.path && before.digest === digest;
        const done = (message: string): PluginStep => ({
          plugin: viewNow(one, enabledOf(all, name), name),
          success: true,
          message,
          digest,
        });
        if (!isSame || !active.has(name)) {
          const trouble = await startTrouble(all, { manifest, path: one.path, digest });
          if (trouble !== undefined) {
            const message = `cannot enable ${name}: ${trouble}`;
            return { plugin: viewNow(one, before, name), success: false, message };
          }
        }
        if (isDryRun) return done(isSame ? `${name} is enabled already` : `enable ${name} ${manifest.version}`);
        if (isSame && active.has(name)) return done(`${name} is enabled already`);
        const enabled = isSame ? before : { name, path: one.path, digest, enabledAt: clock.now() };
        if (!isSame) all.enabled.save(enabled);
        await activate(enabled, manifest);
        return done(before === undefined ? `${name} is enabled` : `${name} is enabled as it is now`);
      }),

    disable: (name, { isDryRun }) =>
      inTurn(async (all) => {
        const { one, before } = await found(all, name);
        const done = (message: string): PluginStep => ({
          plugin: viewNow(one, enabledOf(all, name), name),
          success: true,
          message,
        });
        if (before === undefined) return done(`${name} is not enabled`);
        if (isDryRun) return done(`disable ${name}`);
        all.enabled.remove(name);
        await deactivate(name, new PluginNotRun("it was ended, since it has been disabled"));
        return done(`${name} is disabled`);
      }),

    async command(name) {
      const all = await loaded();
      const { one, before } = await found(all, name);
      if (before === undefined) throw invalid("name", "Plugin is not enabled", `cannot run ${name}: it is not enabled`);
      const { type } = viewNow(one, before, name);
      if (type !== "command")
        throw invalid("name", "Plugin is not a command", `cannot run ${name}: it is a ${type}, not a command`);
      const fault = faultOf(one, before);
      const command = commands.get(name);
      const manifest = active.get(name)?.manifest;
      if (fault !== undefined || command === undefined || manifest === undefined) {
        const reason = fault ?? "it is being changed just now";
        throw new DomainError("UNAVAILABLE", `cannot run ${name}: ${reason}`, {
          reason,
          retryable: fault === undefined,
        });
      }
      return { manifest, run: command.run };
    },

    replace: (folders) =>
      inTurn(async (all) => {
        parts = { ...all, folders };
        if (!isSafeMode) await sync(parts);
      }),

    running: () => [...new Set([...underWay].map(({ plugin }) => plugin))].sort(),

    async stop() {
      stopping.abort();
      const reason = new PluginNotRun("it was ended, since the service stops");
      const all = [...active.values()];
      active.clear();
      // One that is being disabled just now is no longer among them, and its run may not be over.
      await Promise.all([...all.map(({ stop }) => stop(reason)), turn]);
    },
  };
}
