import type { Client } from "#client/index.ts";
import { type BootedGuest, bootHost, type Host } from "../test/host/host.ts";
import { eventually } from "../test/host/support/eventually.ts";
import { type DemoCommands, hostName, writeClient, writeShell } from "./commands.ts";
import { claimDirectory, type DemoDirectory } from "./directory.ts";
import { type DemoNetwork, freeNetwork } from "./network.ts";
import type { Stage } from "./scene.ts";
import { scenes } from "./scenes/index.ts";
import { bindPackage, installService } from "./service.ts";
import { type Try, triesFor } from "./tries.ts";

/** A demo that runs. */
export interface Demo {
  readonly url: string;
  readonly commands: DemoCommands;
  readonly tries: readonly Try[];
  /** Removes all of it. */
  readonly stop: () => Promise<void>;
}

async function nameHost(stage: Stage): Promise<void> {
  await stage.host.writeFile("/etc/hostname", `${hostName}\n`);
  await stage.host.writeFile("/etc/hosts", `127.0.0.1 localhost\n127.0.1.1 ${hostName}\n::1 localhost\n`);
  await stage.shell(`hostname ${hostName}`);
}

/** To be compared with, and to return to. @returns its id. */
async function takeSnapshot(api: Pick<Client, "createSnapshot">): Promise<string> {
  const answer = await api.createSnapshot({ body: { description: "as the demo began" } });
  if (!("id" in answer)) throw new Error("cannot take the snapshot of the demo: the service has not finished it");
  return answer.id;
}

async function onBoot(guest: BootedGuest, directory: DemoDirectory): Promise<void> {
  writeShell(directory, guest.leader);
  for (const { boot } of scenes) await boot?.(guest);
}

/** A directory and a network that no other demo has. */
function claim(): { directory: DemoDirectory; network: DemoNetwork } {
  let directory: DemoDirectory | undefined;
  const network = freeNetwork((number) => {
    directory = claimDirectory(number);
    return directory !== undefined;
  });
  if (directory === undefined) throw new Error("cannot start the demo: it has no directory");
  return { directory, network };
}

/** Boots a host, sets the scene, installs Steward. The caller stops it; the end of the process does, too. */
export async function startDemo(say: (line: string) => void): Promise<Demo> {
  const { directory, network } = claim();
  process.once("exit", directory.remove);
  let host: Host | undefined;
  const stop = async (): Promise<void> => {
    await host?.stop();
    directory.remove();
    process.removeListener("exit", directory.remove);
  };
  try {
    say("building the package, where it is not there yet");
    const bind = [await bindPackage()];
    const booted = await bootHost({
      privateNetwork: true,
      bind,
      log: say,
      onStart: network.attach,
      onBoot: (guest) => onBoot(guest, directory),
    });
    host = booted;
    const shell = async (line: string) => (await booted.exec(["sh", "-c", line], { timeoutMs: 120_000 })).stdout;
    const stage: Stage = { host: booted, shell };
    await nameHost(stage);
    for (const scene of scenes) await scene.prepare?.(stage);
    say("installing Steward");
    const { url, key, ca, api } = await installService(booted, network.address);
    const commands = { shell: `${directory.path}/shell`, ...(await writeClient(directory, { url, key, ca })) };
    for (const scene of scenes) await scene.serve?.({ ...stage, api });
    // Anyone who looks now sees everything. Once a second, since their first requests share the limit of this key.
    await eventually(
      async () => {
        if ((await api.getHealth()).details !== undefined) throw new Error("not all checks have run");
      },
      120_000,
      1000,
    );
    const firstSnapshot = await takeSnapshot(api);
    return { url, commands, tries: triesFor({ commands, url, firstSnapshot }), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
