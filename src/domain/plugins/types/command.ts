import type { PluginKind } from "../plugin-kind.ts";

export const commandKind: PluginKind<"command"> = {
  faultOf: () => undefined,
  connect({ manifest: { name }, run }, _role, points) {
    return points.commands.add({
      name,
      run: (input, signal) =>
        run(input, (end) => ({ result: end.exitCode === 0 ? "success" : "failure", value: end }), signal),
    });
  },
};
