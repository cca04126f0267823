import { longTestsOn } from "../../test/host/recipe.ts";

/** Something of a part that is run: vitest with arguments, or a script of package.json. */
export type Command = {
  readonly environment?: Readonly<Record<string, string>>;
} & ({ readonly vitest: readonly string[] } | { readonly script: string; readonly arguments: readonly string[] });

/** A part of what takes longer than `npm test` may. */
export interface Part {
  readonly name: string;
  /** What it shows, for the table of docs/CONTRIBUTING.md. */
  readonly proves: string;
  /** Anyone who changes something in these runs it. */
  readonly directories: readonly string[];
  /** What it took on two cores that did nothing else, in minutes; left out where nobody has measured it. */
  readonly minutes?: number;
  readonly commands: readonly Command[];
}

/** Files of the project `long`, as paths below test/ without their ending. */
const long = (...files: readonly string[]): Command => ({
  vitest: ["--project", "long", ...files.map((file) => `test/${file}.long.test.ts`)],
});
/** Files of `npm test` that try more in the project `long`. */
const wider = (...files: readonly string[]): Command => ({
  vitest: ["--project", "long", ...files.map((f) => `test/${f}.test.ts`)],
});

export const parts: readonly Part[] = [
  {
    name: "journal",
    proves: "queries against journalctl on many journals: damaged, growing, large; what changes on a host",
    directories: ["src/adapters/journald", "src/adapters/journal-format", "src/domain/logs", "test/journals"],
    minutes: 15,
    commands: [
      long(
        "ports/journal-bounds",
        "ports/journal-changes",
        "ports/journal-corruption",
        "process/journal-many-values",
        "host/logs-new",
        "host/logs-storage",
      ),
      wider("ports/journal-differential", "ports/journal-paging", "host/logs.host"),
    ],
  },
  {
    name: "updates",
    proves: "guarded updates, rollbacks, signatures, kills at each step, on apt, dnf, zypper and pacman",
    directories: ["src/adapters/packages", "src/adapters/snapshots", "src/domain/updates"],
    minutes: 12,
    commands: [
      long(
        "host/image-based",
        "host/packages",
        "host/packages-change",
        "host/restarts-needed",
        "host/snapshots",
        "host/updates",
        "host/updates-apt",
        "host/updates-automatic",
        "host/updates-dnf",
        "host/updates-guard",
        "host/updates-kernels",
        "host/updates-managers",
        "host/updates-many",
        "host/updates-pacman",
        "host/updates-rollback",
        "host/updates-shutdown",
        "host/updates-signatures",
        "host/updates-signatures-pacman",
        "host/updates-zypper",
        "ports/apt-lists",
      ),
      wider("ports/snapshot-backend"),
    ],
  },
  {
    name: "checks",
    proves: "checks and fixes on hosts that are really broken, and on quiet ones; monitoring plugins; containers",
    directories: ["src/domain/health", "src/app/parts"],
    minutes: 1,
    commands: [
      long(
        "host/checks",
        "host/fixes",
        "host/quiet-hosts",
        "ports/check-history-month",
        "ports/containers-real",
        "ports/directory-sizes-wide",
      ),
    ],
  },
  {
    name: "services",
    proves: "units that fail, restart, are linked or masked; a system bus that goes away or lies; reboots",
    directories: ["src/adapters/systemd", "src/adapters/logind", "src/domain/system"],
    minutes: 1,
    commands: [long("host/bus-forged", "host/reboot", "host/service-manager", "host/services")],
  },
  {
    name: "root",
    proves: "what root does for the service, what it refuses, and what somebody who has taken the service over can do",
    directories: ["src/root", "deploy"],
    minutes: 2,
    commands: [
      long(
        "host/compromised",
        "host/hanging-paths",
        "host/privileges-hostile",
        "host/privileges-sandbox",
        "host/root-record",
        "host/root-requests",
        "host/socket",
        "process/root-requests",
      ),
    ],
  },
  {
    name: "access",
    proves: "approvals, sessions, passkeys, audit and keys: attacked, killed, in a real browser, on hosts",
    directories: ["src/domain/access", "src/domain/audit", "src/adapters/keystore", "src/adapters/approvals"],
    minutes: 4,
    commands: [
      long(
        "host/approvals",
        "host/audit",
        "process/approvals-killed",
        "process/keystore-crash",
        "process/keystore-first-start",
        "process/keystore-loss",
        "security/browser",
        "security/passkeys-page",
        "security/sessions-attacked",
        "security/sessions-page",
      ),
      wider("api/replays.api"),
    ],
  },
  {
    name: "interface",
    proves: "every status of every operation, fuzzed requests, clients that generators make, hostile text, proxies",
    directories: ["src/contract", "src/transports", "src/client"],
    minutes: 6,
    commands: [
      long(
        "api/audit-answers",
        "api/host-failures",
        "api/statuses",
        "host/hostile-texts",
        "process/client-package",
        "process/fuzzing",
        "process/generators",
        "process/prism",
        "process/requests-fuzzed",
        "process/reverse-proxy",
        "security/secrets-of-settings",
      ),
      wider("security/hostile-texts"),
      // The time is a bound alone: it ends with the last of its inputs.
      { script: "fuzz", arguments: ["http-request", "--runs", "20000", "--seconds", "1800", "--fresh"] },
    ],
  },
  {
    name: "cli",
    proves: "each command on a host and in terminals, completion in each shell, contexts, hostile answers",
    directories: ["src/cli"],
    minutes: 1,
    commands: [long("host/cli", "host/docs", "security/cli-answers", "security/terminal")],
  },
  {
    name: "observability",
    proves: "traces received and sent on, metrics and alerts with the real stack",
    directories: ["src/telemetry", "src/transports/otlp", "src/app/tracing", "src/domain/alerts"],
    minutes: 1,
    commands: [
      long(
        "host/observability",
        "host/traces-received",
        "host/tracing",
        "process/observability-files",
        "process/otlp-forward",
        "process/otlp-receiver",
        "process/tracing",
      ),
      wider("ports/trace-store"),
    ],
  },
  {
    name: "plugins",
    proves: "plugins of each kind in each language, their sandbox, the examples",
    directories: ["src/adapters/plugins", "src/domain/plugins", "examples"],
    minutes: 2,
    commands: [
      long("host/examples", "host/plugin-examples", "host/plugins", "host/plugins-sandbox", "process/plugin-examples"),
    ],
  },
  {
    name: "reliability",
    proves:
      "operations that are killed, full and failing disks, links that are cut, floods, slow clients, clocks that jump",
    directories: ["src/domain/operations", "src/adapters/operations", "src/app"],
    minutes: 3,
    commands: [
      long(
        "host/chaos",
        "host/chaos-network",
        "host/chaos-storage",
        "host/egress",
        "host/host-failures",
        "host/operations",
        "process/clock-jump",
        "process/floods",
        "process/idle-modules",
        "process/operations-killed",
        "process/slow-clients",
        "process/soak",
      ),
      wider("ports/operation-store"),
    ],
  },
  {
    name: "console",
    proves:
      "each page of the console in a browser, on a host: its work by mouse and by keyboard, each look, narrowed keys",
    directories: ["web", "src/transports/http/console.ts"],
    minutes: 5,
    commands: [
      long(
        "console/approvals",
        "console/connection",
        "console/diagnosis",
        "console/logs",
        "console/pages",
        "console/services",
        "console/session",
        "console/updates",
        "console/windows",
      ),
    ],
  },
  {
    name: "mcp",
    proves:
      "the Model Context Protocol by its conformance suite and clients of others, installed for it; a diagnosis by a model that obeys",
    directories: ["src/transports/mcp", "src/cli/commands/mcp.ts"],
    minutes: 1,
    commands: [long("host/diagnose", "host/mcp", "process/mcp-clients")],
  },
  {
    name: "diagnosis",
    proves: "what explanations are given names the causes of faults that are provoked on a host",
    directories: ["src/domain/explain"],
    minutes: 1,
    commands: [long("host/diagnosis")],
  },
  {
    name: "tls",
    proves: "certificates of files that change, of clients, on a host",
    directories: ["src/adapters/tls", "src/transports/http"],
    minutes: 1,
    commands: [long("host/tls", "process/tls-client-certs")],
  },
  {
    name: "package",
    proves: "the Debian package: contents, built twice, installed, upgraded; a fresh clone",
    directories: ["deploy", "scripts", "package.json"],
    minutes: 2,
    commands: [long("host/package", "process/fresh-clone", "process/package-contents", "process/package-node")],
  },
  {
    name: "demo",
    proves: "the lines of the demo, as they are printed",
    directories: ["demo"],
    minutes: 1,
    commands: [long("host/demo"), { vitest: ["--project", "demo"] }],
  },
  {
    name: "trixie",
    proves: "the tests of the host on Debian 13",
    directories: ["test/host", "src/adapters"],
    minutes: 24,
    commands: [
      ["--project", "host"],
      ["--project", "long", ...longTestsOn],
    ].map((vitest) => ({
      vitest,
      environment: { STEWARD_TEST_HOST: "trixie" },
    })),
  },
  {
    name: "machine",
    proves: "every check and read of the installed package on an emulated machine, with a kernel and disks of its own",
    directories: ["test/machine", "deploy", "src/adapters"],
    minutes: 20,
    commands: [{ vitest: ["--project", "machine"] }],
  },
  {
    name: "sid",
    proves: "dnf 5, on a Debian that changes each day",
    directories: ["src/adapters/packages/dnf"],
    minutes: 4,
    commands: [{ vitest: ["--project", "sid"] }],
  },
  {
    name: "fuzz",
    proves: "ten minutes of hostile input to every parser, guided by coverage",
    directories: ["test/fuzz", "src/kernel"],
    minutes: 10,
    commands: [{ script: "fuzz", arguments: ["--seconds", "600", "--fresh"] }],
  },
];

/** The files of tests of all parts but those that run others on another Debian. */
export const filesOfParts: readonly string[] = parts
  .filter(({ name }) => name !== "trixie")
  .flatMap(({ commands }) => commands)
  .flatMap((command) => ("vitest" in command ? command.vitest : []))
  .filter((word) => word.endsWith(".test.ts"));

/** The row of a part in the table of docs/CONTRIBUTING.md. */
export const partRow = ({ name, proves, directories, minutes }: Part): string =>
  `| \`${name}\` | ${proves} | ${directories.map((path) => `\`${path}\``).join(", ")} | ${minutes === undefined ? "not measured" : `${minutes} min`} |`;
