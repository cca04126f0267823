import type { PluginType } from "#contract/plugins.ts";
import { type EnabledPlugin, type PluginManifest, PluginNotRun } from "#domain/ports/plugins.ts";
import type { Dispose } from "#kernel/clock.ts";
import { pluginKinds } from "./kinds.ts";
import type { ExtensionPoints, LoadedPlugin, Roles } from "./plugin-kind.ts";

interface ActivePlugin {
  readonly enabled: EnabledPlugin;
  readonly manifest: PluginManifest;
  /** Removes it, and resolves when nothing of it runs any more. */
  readonly stop: (reason: PluginNotRun) => Promise<void>;
}

const connect = <T extends PluginType>(
  type: T,
  role: Roles[T],
  plugin: LoadedPlugin,
  points: ExtensionPoints,
): Dispose => pluginKinds[type].connect(plugin, role, points);

export function createActivePlugins(ports: {
  readonly points: ExtensionPoints;
  readonly guarded: (enabled: EnabledPlugin, manifest: PluginManifest, over: AbortSignal) => LoadedPlugin["run"];
  readonly onGone: (plugin: string) => void;
}) {
  const { points, guarded, onGone } = ports;
  const active = new Map<string, ActivePlugin>();
  const underWay = new Set<{ readonly plugin: string }>();
  let isStopping = false;

  const deactivate = async (name: string, reason: PluginNotRun): Promise<void> => {
    const one = active.get(name);
    if (one === undefined) return;
    active.delete(name);
    await one.stop(reason);
    onGone(name);
  };

  return {
    get: (name: string): Pick<ActivePlugin, "enabled" | "manifest"> | undefined => active.get(name),
    running: (): readonly string[] => [...new Set([...underWay].map(({ plugin }) => plugin))].sort(),
    deactivate,
    async activate(enabled: EnabledPlugin, manifest: PluginManifest): Promise<void> {
      await deactivate(enabled.name, new PluginNotRun("it was enabled again meanwhile"));
      // It stays enabled for the next start.
      if (isStopping) return;
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
    },
    async stop(reason: PluginNotRun): Promise<void> {
      isStopping = true;
      const all = [...active.values()];
      active.clear();
      await Promise.all(all.map(({ stop }) => stop(reason)));
    },
  };
}
