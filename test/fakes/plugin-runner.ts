import type { PluginRun, PluginRunner } from "#domain/ports/plugins.ts";

/** Plugins by the path of their program. A function is called at each run; whatever else is run does not exist. */
export const createFakePluginRunner = (
  plugins: Readonly<Record<string, PluginRun | ((args: readonly string[]) => PluginRun)>>,
): PluginRunner => ({
  run([program, ...args], signal) {
    if (signal.aborted) return Promise.resolve({ isEnded: false, reason: "cannot be run: cancelled" });
    const plugin = plugins[program];
    if (plugin === undefined) {
      const reason = "does not exist, or the interpreter in its first line does not";
      return Promise.resolve({ isEnded: false, reason });
    }
    return Promise.resolve(typeof plugin === "function" ? plugin(args) : plugin);
  },
});
