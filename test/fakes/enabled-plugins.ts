import type { EnabledPlugin, EnabledPlugins } from "#domain/ports/plugins.ts";

export interface FakeEnabledPlugins extends EnabledPlugins {
  /** What every change throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
}

/** Which plugins are enabled, in memory. */
export function createFakeEnabledPlugins(enabled: readonly EnabledPlugin[] = []): FakeEnabledPlugins {
  const plugins = new Map(enabled.map((each) => [each.name, each]));
  const check = (): void => {
    if (fake.fault !== undefined) throw fake.fault;
  };
  const fake: FakeEnabledPlugins = {
    fault: undefined,
    all: () => [...plugins.values()],
    save(plugin) {
      check();
      plugins.set(plugin.name, plugin);
    },
    remove(name) {
      check();
      plugins.delete(name);
    },
  };
  return fake;
}
