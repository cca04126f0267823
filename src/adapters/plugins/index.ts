import { canStartUnits } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { PluginSandbox } from "#domain/ports/plugins.ts";
import { lazy } from "#kernel/async.ts";
import { createBareSandbox } from "./bare.ts";
import { createUnitSandbox, type NotEnded } from "./unit.ts";

export { type ConfirmedPlugin, openConfirmedPlugins } from "./confirmed.ts";
export { createPluginDirectories } from "./directories.ts";
export { openEnabledPlugins, readEnabledPlugins } from "./enabled.ts";
export { inspectPlugin } from "./inspect.ts";

/** Sends a datagram to loopback from a unit that may send none: says `EPERM` where systemd keeps its word. */
const trial = `const socket = require("node:dgram").createSocket("udp4");
socket.send("", 9, "127.0.0.1", (error) => { process.stdout.write(error?.code ?? "sent"); socket.close(); });`;

function createAddressTrial(exec: Exec): () => Promise<boolean> {
  const options = ["--pipe", "--wait", "--collect", "--quiet", "--no-ask-password", "--property=IPAddressDeny=any"];
  return lazy(async () => {
    const { stdout } = await exec(["systemd-run", ...options, "--", process.execPath, "-e", trial]);
    return stdout === "EPERM";
  });
}

export function createPluginSandbox(ports: {
  readonly exec: Exec;
  readonly hidden: readonly string[];
  readonly partOf?: string | undefined;
  readonly onNotEnded: (trouble: NotEnded) => void;
  readonly hasSystemd?: () => boolean;
}): PluginSandbox {
  const { exec, hidden, partOf, onNotEnded, hasSystemd = canStartUnits } = ports;
  if (!hasSystemd()) return createBareSandbox({ exec });
  return createUnitSandbox({ exec, hidden, partOf, filtersAddresses: createAddressTrial(exec), onNotEnded });
}
