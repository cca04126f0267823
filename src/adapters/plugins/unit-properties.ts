import { readdirSync, readFileSync } from "node:fs";
import { escapeArgument } from "#adapters/exec/command.ts";
import { type PluginCall, PluginNotRun } from "#domain/ports/plugins.ts";
import { orElse } from "#kernel/errors.ts";
import { environmentOf } from "./plugin-process.ts";
import { isInside, isPlain, whatLeadsElsewhere } from "./trust.ts";

export interface UnitPlace {
  readonly ends: string;
  readonly hidden: readonly string[];
  readonly boundsMemory: boolean;
  readonly topDirectories: readonly string[];
  readonly topFiles: readonly string[];
}

/** The plugin's . Not the private /tmp, which is on the disk of the host and unbounded. */
const workDirectoryOf = ({ manifest }: PluginCall): string =>
  manifest.permissions.user === "root" ? "/tmp" : "/dev/shm";

const spareMs = 15_000;

const commonSettings = [
  ...["alternatives", "debian_version", "machine-id", "mime.types", "os-release"],
  ...["group", "passwd", "localtime", "timezone"],
  ...["gai.conf", "host.conf", "hostname", "hosts", "nsswitch.conf", "protocols", "resolv.conf", "services"],
  ...["ld.so.cache", "ld.so.conf", "ld.so.conf.d"],
  ...["ca-certificates", "crypto-policies", "pki/ca-trust", "pki/tls/certs", "pki/tls/openssl.cnf"],
  ...["ssl/certs", "ssl/openssl.cnf"],
];

const bounds = (unit: string, call: PluginCall, { ends, boundsMemory }: UnitPlace): readonly string[] => {
  const { timeoutMs, permissions } = call.manifest;
  const { memoryBytes, tasks } = permissions;
  return [
    "KillMode=control-group",
    "TimeoutStopSec=1s",
    "SendSIGKILL=yes",
    `RuntimeMaxSec=${timeoutMs + spareMs}ms`,
    `MemoryMax=${memoryBytes}`,
    "MemorySwapMax=0",
    // For each process by itself. Only where nothing better is there: what a program reserves and never uses counts too.
    ...(boundsMemory ? [] : [`LimitDATA=${memoryBytes}`]),
    "OOMPolicy=kill",
    "OOMScoreAdjust=500",
    `TasksMax=${tasks}`,
    "LimitCORE=0",
    "LimitNOFILE=1024",
    "Nice=5",
    "UMask=0077",
    "IgnoreSIGPIPE=no",
    "KeyringMode=private",
    // What ends with an exit code has run, whatever the code says: that is not a failed unit.
    `SuccessExitStatus=${Array.from({ length: 199 }, (_, at) => at + 1).join(" ")}`,
    "LogLevelMax=notice",
    "CPUWeight=20",
    "IOWeight=20",
    // Not the directory that it may write to: from systemd 256 on no unit starts in a directory below /dev.
    "WorkingDirectory=/",
    // Only systemd knows how it ended, and passes it to this one. The name of an empty file can carry it without a shell.
    `ExecStopPost=+/usr/bin/touch "${ends}/${unit}.\${SERVICE_RESULT}.\${EXIT_CODE}.\${EXIT_STATUS}"`,
  ];
};

const network = { none: "AF_UNIX", local: "AF_UNIX AF_INET AF_INET6", full: "AF_UNIX AF_INET AF_INET6 AF_NETLINK" };

function networkProperties({ manifest }: PluginCall): readonly string[] {
  const asked = manifest.permissions.network;
  return [
    `RestrictAddressFamilies=${network[asked]}`,
    ...(asked === "none" ? ["PrivateNetwork=yes"] : []),
    ...(asked === "local" ? ["IPAddressDeny=any", "IPAddressAllow=localhost"] : []),
  ];
}

const system = [
  "NoNewPrivileges=yes",
  "ProtectSystem=strict",
  "PrivateTmp=yes",
  "PrivateIPC=yes",
  "TemporaryFileSystem=/dev/shm:size=64M,nr_inodes=4096,mode=1777,nosuid,nodev",
  "ReadOnlyPaths=-/tmp",
  "ReadOnlyPaths=-/var/tmp",
  "ProtectClock=yes",
  "ProtectControlGroups=yes",
  "ProtectHostname=yes",
  "ProtectKernelLogs=yes",
  "ProtectKernelModules=yes",
  "ProtectKernelTunables=yes",
  "RestrictNamespaces=yes",
  "RestrictRealtime=yes",
  "RestrictSUIDSGID=yes",
  "LockPersonality=yes",
  "PrivateDevices=yes",
  "SystemCallArchitectures=native",
  "SystemCallFilter=@system-service",
  // With a capability to read, these would read past every mount.
  "SystemCallFilter=~open_by_handle_at name_to_handle_at",
  "SystemCallErrorNumber=EPERM",
];

/** Over the bus everybody may read the environment of units, so a plugin without network has no bus. */
const buses = ["/run/dbus/system_bus_socket", "/run/systemd/io.systemd.Manager"];

const kernelSecrets = [
  "/sys/firmware",
  "/sys/fs/bpf",
  "/sys/fs/pstore",
  "/sys/kernel/debug",
  "/sys/kernel/security",
  "/sys/kernel/tracing",
  "/dev/hugepages",
];

const homes = ["/home", "/root", "/run/user"];

/** The capability to read would open the whole host, so all but programs and what was asked for is hidden. */
function viewProperties({ manifest }: PluginCall, { ends, topDirectories, topFiles }: UnitPlace): readonly string[] {
  const { read, write } = manifest.permissions;
  const capabilities = write.length > 0 ? "CAP_DAC_READ_SEARCH CAP_DAC_OVERRIDE" : "CAP_DAC_READ_SEARCH";
  return [
    `TemporaryFileSystem=${["/run", ...topDirectories].map((directory) => `${directory}:ro`).join(" ")}`,
    "TemporaryFileSystem=/dev/pts:ro",
    ...commonSettings.map((name) => `BindReadOnlyPaths=-/etc/${name}`),
    // What reports its end needs this directory, and sees what is bound; of the plugin itself all of it is hidden.
    `BindPaths=${ends}`,
    ...[ends, ...topFiles, ...kernelSecrets].map((path) => `InaccessiblePaths=-${path}`),
    ...read.map((path) => `BindReadOnlyPaths=-${path}`),
    ...write.map((path) => `BindPaths=-${path}`),
    // What root's processes show of themselves is a matter of the same capability.
    "ProtectProc=invisible",
    `CapabilityBoundingSet=${capabilities}`,
    `AmbientCapabilities=${capabilities}`,
  ];
}

function ownUserProperties(call: PluginCall, place: UnitPlace): readonly string[] {
  const { read, write, tasks, network: asked } = call.manifest.permissions;
  const needed = [call.path, ...read, ...write];
  const hasHome = needed.some((path) => homes.some((home) => isInside(path, home)));
  return [
    "DynamicUser=yes",
    `LimitNPROC=${tasks}`,
    `ProtectHome=${hasHome ? "tmpfs" : "yes"}`,
    ...system,
    ...(asked === "none" ? buses.map((path) => `InaccessiblePaths=-${path}`) : []),
    ...(read.length + write.length > 0
      ? viewProperties(call, place)
      : ["CapabilityBoundingSet=", "ReadOnlyPaths=/run"]),
  ];
}

const rootProperties = ({ manifest }: PluginCall): readonly string[] => [
  "ProtectSystem=strict",
  "PrivateTmp=yes",
  "NoNewPrivileges=yes",
  ...manifest.permissions.write.map((path) => `ReadWritePaths=-${path}`),
];

export const unitProperties = (unit: string, call: PluginCall, place: UnitPlace): readonly string[] => [
  ...bounds(unit, call, place),
  ...networkProperties(call),
  ...(call.manifest.permissions.user === "root" ? rootProperties(call) : ownUserProperties(call, place)),
  // It may go while the plugin runs, and what reports the end needs all that is bound here.
  `BindReadOnlyPaths=-${call.path}`,
  ...place.hidden.map((path) => `InaccessiblePaths=-${path}`),
];

const staysVisible = /^\/(usr|bin|sbin|lib(32|64|x32)?|nix|gnu|proc|sys|dev|run|tmp|home|root)$/;

function topEntries(): { readonly topDirectories: readonly string[]; readonly topFiles: readonly string[] } {
  const entries = readdirSync("/", { withFileTypes: true });
  const pathsOf = (kept: typeof entries): readonly string[] => kept.map(({ name }) => `/${name}`);
  return {
    topDirectories: pathsOf(entries.filter((each) => each.isDirectory())).filter((path) => !staysVisible.test(path)),
    topFiles: pathsOf(entries.filter((each) => !each.isDirectory() && !each.isSymbolicLink())),
  };
}

/** False with cgroup v1, where systemd may have the memory controller or not. */
export const boundsMemory = (): boolean =>
  orElse(() => readFileSync("/sys/fs/cgroup/cgroup.controllers", "utf8"), "")
    .split(/\s+/)
    .includes("memory");

function requirePlain(paths: readonly string[]): void {
  const odd = paths.find((path) => !isPlain(path));
  if (odd === undefined) return;
  throw new PluginNotRun(
    `${JSON.stringify(odd)} cannot be kept from it: its name has other characters than A-Z a-z 0-9 . _ @ + , ~ -`,
  );
}

/** A link in the place of a requested path would open something else, with rights that nobody else has. */
function requireFixed(paths: readonly string[]): void {
  for (const path of paths) {
    const reason = whatLeadsElsewhere(path);
    if (reason !== undefined) throw new PluginNotRun(`it asks for ${path}, and ${reason}`);
  }
}

export type CommandPlace = Pick<UnitPlace, "ends" | "hidden" | "boundsMemory"> & {
  readonly partOf: string | undefined;
};

/** The command that runs a plugin in a unit of this name. @throws PluginNotRun when the unit would not contain it. */
export function unitCommand(unit: string, call: PluginCall, place: CommandPlace): readonly [string, ...string[]] {
  const { user, read, write } = call.manifest.permissions;
  const hasView = user !== "root" && read.length + write.length > 0;
  const top = topEntries();
  requirePlain([...place.hidden, call.path, ...(hasView ? [...top.topDirectories, ...top.topFiles] : [])]);
  if (hasView) requireFixed([...read, ...write]);
  return [
    "systemd-run",
    "--pipe",
    "--wait",
    "--collect",
    "--quiet",
    "--no-ask-password",
    "--service-type=exec",
    `--unit=${unit}`,
    `--description=Steward plugin ${call.manifest.name}`,
    ...unitProperties(unit, call, { ...place, ...top }).map((property) => `--property=${property}`),
    ...(place.partOf === undefined ? [] : [`--property=PartOf=${place.partOf}`]),
    ...["--", "/usr/bin/env", "-i"],
    ...environmentOf(call, workDirectoryOf(call)),
    ...[...call.manifest.command, ...call.args].map(escapeArgument),
  ];
}
