import { spawn } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { endWithStarter } from "../../src/daemon.ts";
import { plainEnvironment } from "./commands.ts";
import { bootHost, type Host } from "./host.ts";
import { ensureImage } from "./image.ts";
import { defaultSuite, type Suite, suites } from "./recipe.ts";
import { missingRequirements } from "./requirements.ts";

const usage = `Usage: npm run host -- [--suite SUITE] [--private-network] [--build-only]
       npm run host -- [--suite SUITE] [--private-network] -- COMMAND…

Boots a throw-away Debian with systemd, as the host tests do, and keeps it until Ctrl-C.
The checkout is at /opt/steward inside. The first start builds an image, in about a minute.

  --suite SUITE      another Debian: ${suites.join(", ")} (else $STEWARD_TEST_HOST, else bookworm)
  --build-only       build the image if it is missing, and end
  --private-network  give it a network of its own instead of the machine's
  -- COMMAND…        run this inside, end with its exit code
  --help             show this
`;

type Wanted = { readonly suite: Suite; readonly privateNetwork: boolean };

type Request =
  | { kind: "help" }
  | ({ kind: "build" } & Wanted)
  | ({ kind: "keep" } & Wanted)
  | ({ kind: "run"; command: readonly string[] } & Wanted);

function parseRequest(argv: readonly string[]): Request {
  const { values, tokens } = parseArgs({
    args: [...argv],
    options: {
      help: { type: "boolean", short: "h", default: false },
      suite: { type: "string" },
      "build-only": { type: "boolean", default: false },
      "private-network": { type: "boolean", default: false },
    },
    allowPositionals: true,
    tokens: true,
  });
  if (values.help) return { kind: "help" };
  const end = tokens.find((token) => token.kind === "option-terminator")?.index ?? argv.length;
  const unknown = tokens.find((token) => token.kind === "positional" && token.index < end && token.value !== "build");
  if (unknown?.kind === "positional") {
    throw new Error(
      `cannot do ${unknown.value}: it is not a command of this program (to run it inside the host, put -- before it)`,
    );
  }
  const command = argv.slice(end + 1);
  const suite = defaultSuite({ STEWARD_TEST_HOST: values.suite ?? process.env.STEWARD_TEST_HOST });
  const wanted: Wanted = { suite, privateNetwork: values["private-network"] };
  if (values["build-only"]) return { kind: "build", ...wanted };
  return command.length > 0 ? { kind: "run", command, ...wanted } : { kind: "keep", ...wanted };
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function runInside(host: Host, command: readonly string[]): Promise<number> {
  const [file = "", ...args] = await host.enter(command);
  const env = { ...plainEnvironment, TERM: process.env.TERM ?? "dumb" };
  const [code] = await once(spawn(file, args, { env, stdio: "inherit" }), "exit");
  return typeof code === "number" ? code : 255;
}

async function keepRunning(host: Host): Promise<void> {
  const shell = await host.enter(["bash", "-l"]);
  say(
    `It runs. A shell inside, as root:\n\n  ${shell.join(" ")}\n\nIts files: ${host.root}\nCtrl-C ends and removes it.`,
  );
  // Waiting for a signal alone does not keep a process alive.
  const alive = setInterval(() => undefined, 60_000);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM"), once(process, "SIGHUP")]);
  clearInterval(alive);
  say("shutting down");
}

async function main(argv: readonly string[]): Promise<number> {
  const request = parseRequest(argv);
  if (request.kind === "help") {
    process.stdout.write(usage);
    return 0;
  }
  const missing = missingRequirements();
  if (missing.length > 0) throw new Error(`cannot run the test host: missing: ${missing.join("; ")}`);
  if (request.kind === "build") {
    say(await ensureImage(request.suite, say));
    return 0;
  }
  const host = await bootHost({ suite: request.suite, privateNetwork: request.privateNetwork, log: say });
  try {
    if (request.kind === "run") return await runInside(host, request.command);
    await keepRunning(host);
    return 0;
  } finally {
    await host.stop();
  }
}

endWithStarter();
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
