import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { copyFile, mkdir, readdir, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type CommandOptions, type CommandResult, noLog, plainEnvironment, runCommand } from "../host/commands.ts";
import { mountDisk, unmountDisk } from "../host/disk.ts";
import { cacheDirectory, ensureImage } from "../host/image.ts";
import { defaultSuite, silentTimers } from "../host/recipe.ts";
import { createRunDirectory, type RunDirectory, removeRunDirectory, sweepRuns } from "../host/runs.ts";
import { ensureDeb } from "../host/support/deb.ts";
import { openQmp, type Qmp } from "./qmp.ts";

/** The version of the package that is installed in machines. */
export const packageVersion = "0.2.0";

/** Where the package is in a machine that has not installed it yet. */
const packagePath = "/root/steward.deb";
const servicePort = 8470;
/** A boot takes a quarter of a minute where nothing else runs, and everything inside takes ten times as long as outside. */
const bootTimeoutMs = 600_000;
const execTimeoutMs = 600_000;

/** An empty disk besides the one of the system. `id` is its serial number, and its name for the emulator. */
export type MachineDisk = {
  readonly id: string;
  readonly kind: "ahci" | "nvme" | "scsi" | "virtio";
  readonly sizeBytes: number;
};

/** A Debian with a kernel of its own, emulated, that belongs to one test file. Changes to it are gone with it. */
export type Machine = {
  /** Runs a command inside as root; throws unless it exits with 0 (see `allowFailure`) within `timeoutMs` (ten minutes). */
  exec(argv: readonly string[], options?: CommandOptions): Promise<CommandResult>;
  /** Runs a line of shell inside and returns what it printed. */
  shell(line: string): Promise<string>;
  /** Writes a file inside and makes the directories it needs. */
  writeFile(path: string, content: string, mode?: number): Promise<void>;
  /** Installs the package, as an administrator does. */
  installPackage(): Promise<void>;
  /** Where the service inside, at its default address, is called from here. Changes with each boot. */
  url(): Promise<string>;
  readonly qmp: Qmp;
  /**
   * The next time the machine is up after a reboot from inside. Call it first, then reboot, then await what it returned.
   * @throws Error where units have failed at that boot, unless it may be degraded.
   */
  nextBoot(options?: { readonly mayBeDegraded?: boolean }): Promise<void>;
  /** Ends it and removes everything. Doing it twice is fine. */
  stop(): Promise<void>;
};

/** Boots a copy of the machine's image. The caller stops it; the end of the process does, too. */
export async function bootMachine(disks: readonly MachineDisk[] = []): Promise<Machine> {
  const image = await ensureImage(defaultSuite(), noLog, "machine");
  sweepRuns(cacheDirectory(), noLog);
  const run = createRunDirectory(cacheDirectory());
  try {
    await runCommand(["cp", "--sparse=always", "--reflink=auto", image, run.image]);
    await prepareSystem(run);
    for (const { id, sizeBytes } of disks) {
      await writeFile(diskFile(run, id), "");
      await truncate(diskFile(run, id), sizeBytes);
    }
    return await runMachine(run, disks);
  } catch (error) {
    await removeRunDirectory(run);
    throw error;
  }
}

const diskFile = (run: RunDirectory, id: string): string => join(run.path, `${id}.disk`);
const keyFile = (run: RunDirectory): string => join(run.path, "key");

/** The package, without compression: decompressing takes longer than all the rest of the installation where it is emulated. */
async function uncompressedPackage(run: RunDirectory): Promise<string> {
  const debs = await ensureDeb(packageVersion);
  const [deb] = await readdir(debs);
  if (deb === undefined) throw new Error(`cannot find the package of Steward in ${debs}`);
  const [tree, copy] = [join(run.path, "package"), join(run.path, "steward.deb")];
  await runCommand(["dpkg-deb", "--raw-extract", join(debs, deb), tree]);
  await runCommand(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, copy]);
  return copy;
}

/** Writes into the file system what the machine is given, and takes its kernel out, which the emulator loads itself. */
async function prepareSystem(run: RunDirectory): Promise<void> {
  const deb = await uncompressedPackage(run);
  await runCommand(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keyFile(run)]);
  await mountDisk(run.image, run.root);
  try {
    const inside = (path: string): string => join(run.root, path);
    await copyFile(deb, inside(packagePath));
    await mkdir(inside("root/.ssh"), { recursive: true, mode: 0o700 });
    await copyFile(`${keyFile(run)}.pub`, inside("root/.ssh/authorized_keys"));
    for (const name of await readdir(inside("boot"))) {
      const [kind] = /^(vmlinuz|initrd\.img)(?=-)/.exec(name) ?? [];
      if (kind !== undefined) await copyFile(inside(`boot/${name}`), join(run.path, kind));
    }
  } finally {
    await unmountDisk(run.root);
  }
}

const driver: Readonly<Record<MachineDisk["kind"], string>> = {
  ahci: "ide-hd,bus=ide.0",
  nvme: "nvme",
  scsi: "scsi-hd,bus=scsi.0",
  virtio: "virtio-blk-pci",
};

function emulatorCommand(run: RunDirectory, disks: readonly MachineDisk[]): string[] {
  const drive = (id: string, file: string): string[] => [
    "-drive",
    // Nothing here has to survive a crash of this machine.
    `if=none,id=drive-${id},format=raw,cache=unsafe,discard=unmap,file=${file}`,
  ];
  const kernelWords = ["root=/dev/vda rw console=ttyS0 quiet", ...silentTimers.map((unit) => `systemd.mask=${unit}`)];
  return [
    ...["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-name", run.name, "-nodefaults", "-display", "none"],
    // Time inside follows the instructions that ran, not this machine: however slow it is, no limit inside ends too early.
    ...["-machine", "q35", "-accel", "tcg", "-icount", "shift=0,sleep=on", "-rtc", "clock=vm", "-m", "2048"],
    ...["-kernel", join(run.path, "vmlinuz"), "-initrd", join(run.path, "initrd.img")],
    ...["-append", kernelWords.join(" "), "-serial", `file:${run.console}`, "-qmp", "stdio"],
    ...["-nic", "user,model=virtio-net-pci,restrict=on,hostfwd=tcp:127.0.0.1:0-:22", "-device", "virtio-rng-pci"],
    ...["-device", "virtio-scsi-pci,id=scsi", ...drive("system", run.image), "-device"],
    "virtio-blk-pci,drive=drive-system",
    ...disks.flatMap(({ id, kind }) => [
      ...drive(id, diskFile(run, id)),
      "-device",
      `${driver[kind]},drive=drive-${id},id=${id},serial=${id}`,
    ]),
  ];
}

function startEmulator(run: RunDirectory, disks: readonly MachineDisk[]): ChildProcess {
  const said = openSync(run.console, "a");
  const launch = [fileURLToPath(new URL("../host/launch.ts", import.meta.url)), run.record, run.name];
  const emulator = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", ...launch, ...emulatorCommand(run, disks)],
    { env: plainEnvironment, detached: true, stdio: ["pipe", "pipe", said] },
  );
  closeSync(said);
  return emulator;
}

async function runMachine(run: RunDirectory, disks: readonly MachineDisk[]): Promise<Machine> {
  const emulator = startEmulator(run, disks);
  const exited = once(emulator, "exit");
  const console = (): string => readFileSync(run.console, "utf8").slice(-4000);
  const qmp = await openQmp(emulator).catch((error: unknown) => {
    throw new Error(`cannot start the emulator: ${console()}`, { cause: error });
  });
  const forwards = String(await qmp.run("human-monitor-command", { "command-line": "info usernet" }));
  const port = /HOST_FORWARD\]\s+\d+\s+\S+\s+(\d+)\s/.exec(forwards)?.[1];
  if (port === undefined) throw new Error(`cannot find the port of the machine's ssh in: ${forwards}`);
  const shell = createShell(run, port);

  async function boot(mayBeDegraded = false): Promise<string> {
    const deadline = performance.now() + bootTimeoutMs;
    for (;;) {
      const url = await shell.connect();
      if (url !== undefined) {
        await requireRunning(mayBeDegraded);
        return url;
      }
      if (emulator.exitCode !== null || performance.now() > deadline)
        throw new Error(`cannot boot the machine. Its console:\n${console()}`);
      await sleep(500);
    }
  }

  async function requireRunning(mayBeDegraded: boolean): Promise<void> {
    const { stdout } = await shell.exec(["systemctl", "is-system-running", "--wait"], { allowFailure: true });
    const state = stdout.trim();
    if (state === "running" || (mayBeDegraded && state === "degraded")) return;
    const failed = await shell.exec(["systemctl", "list-units", "--failed", "--plain", "--no-legend"]);
    throw new Error(`cannot boot the machine: it is ${state}, failed units:\n${failed.stdout}`);
  }

  let current = boot();
  let stopping: Promise<void> | undefined;
  await current;
  const exec = async (argv: readonly string[], options?: CommandOptions): Promise<CommandResult> => {
    await current;
    return shell.exec(argv, options);
  };
  return {
    exec,
    shell: async (line) => (await exec(["sh", "-c", line])).stdout,
    writeFile: async (path, content, mode = 0o644) => {
      const write = 'mkdir -p "$(dirname "$1")" && cat > "$1" && chmod "$2" "$1"';
      await exec(["sh", "-c", write, "sh", path, mode.toString(8)], { input: content });
    },
    installPackage: async () => {
      await exec(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--yes", "install", packagePath]);
    },
    url: () => current,
    qmp,
    nextBoot: async ({ mayBeDegraded = false } = {}) => {
      await qmp.next("RESET", bootTimeoutMs);
      current = boot(mayBeDegraded);
      await current;
    },
    stop: () => {
      stopping ??= removeRunDirectory(run).then(() => exited.then(() => undefined));
      return stopping;
    },
  };
}

type Shell = {
  /** @returns where the service is called from here; nothing as long as the machine does not let anybody in. */
  connect(): Promise<string | undefined>;
  exec(argv: readonly string[], options?: CommandOptions): Promise<CommandResult>;
};

/** Commands by ssh, over one connection for all: to make one takes seconds inside. */
function createShell(run: RunDirectory, port: string): Shell {
  const socket = join(run.path, "ssh");
  const settings = ["BatchMode=yes", "ConnectTimeout=30", "IdentitiesOnly=yes", "LogLevel=ERROR"];
  const trust = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "ExitOnForwardFailure=yes"];
  const ssh = (...words: readonly string[]): string[] => [
    ...["ssh", "-F", "none", "-S", socket, "-i", keyFile(run), "-p", port],
    ...[...settings, ...trust].flatMap((setting) => ["-o", setting]),
    ...words,
    "root@127.0.0.1",
  ];
  return {
    async connect() {
      await runCommand(ssh("-O", "exit"), { allowFailure: true });
      const local = await freePort();
      const forward = ["-L", `127.0.0.1:${local}:127.0.0.1:${servicePort}`];
      const { exitCode } = await runCommand(ssh("-M", "-N", "-f", ...forward), { allowFailure: true });
      return exitCode === 0 ? `http://127.0.0.1:${local}` : undefined;
    },
    exec: (argv, options) => {
      const line = argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
      return runCommand([...ssh(), line], { timeoutMs: execTimeoutMs, ...options });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("cannot find a free port");
  return address.port;
}
