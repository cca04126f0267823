import { exec } from "#adapters/exec/index.ts";
import { lookHere } from "#adapters/exec/look.ts";
import { createPluginDirectories, createPluginSandbox } from "#adapters/plugins/index.ts";
import type { PluginAnswer, PluginWork } from "./plugins.ts";

// Runs inside the guest: node run-plugin.ts WORK. Prints what came of it as JSON. SIGTERM stands for a client that goes.
const [work = "{}"] = process.argv.slice(2);
const { directory, args = [], stdin, dir } = JSON.parse(work) as PluginWork;
const abort = new AbortController();
process.once("SIGTERM", () => abort.abort());

async function answer(): Promise<PluginAnswer> {
  const onNotEnded = ({ error }: { readonly error: unknown }): void => void process.stderr.write(`${String(error)}\n`);
  const sandbox = createPluginSandbox({ exec, hidden: ["/var/lib/steward"], onNotEnded });
  const found = await createPluginDirectories({ dirs: [dir], now: Date.now, look: lookHere }).read(
    `${dir}/${directory}`,
  );
  if (found === undefined) return { fault: "there is no such directory" };
  if ("fault" in found.loaded) return { fault: found.loaded.fault };
  const { manifest, digest } = found.loaded;
  try {
    const end = await sandbox.run({ manifest, path: found.path, digest, args, stdin }, abort.signal);
    return { end: { ...end, stdout: end.stdout.slice(0, 100_000), outputBytes: end.stdout.length }, digest };
  } catch (error) {
    return { notRun: error instanceof Error ? `${error.name}: ${error.message}` : String(error), digest };
  }
}
process.stdout.write(JSON.stringify(await answer()));
