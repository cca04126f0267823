import { parseArgs, styleText } from "node:util";
import { errorMessage } from "#kernel/errors.ts";
import { endWithStarter } from "../src/daemon.ts";
import { cacheDirectory } from "../test/host/image.ts";
import { sweepRuns } from "../test/host/runs.ts";
import { hostName } from "./commands.ts";
import { type Demo, startDemo } from "./demo.ts";
import { sweepDirectories } from "./directory.ts";
import { endAtOnce, ending, endOnce } from "./ending.ts";
import { missingForDemo } from "./requirements.ts";
import { scenes } from "./scenes/index.ts";

const usage = `Usage: npm run demo [-- [--for MINUTES] [--clean]]

Boots a throw-away Debian host on this machine with Steward on it and things to look after: an update, a failed unit,
a full disk, a busy journal, snapshots, a stand-in for a language model. Says what to try, and removes everything when
it ends, but for the image of the host, which the first start builds in one to two minutes: it stays for the next
one (800 MB in ${cacheDirectory()}).

  --for MINUTES  end by itself after so long; otherwise Ctrl-C ends it
  --clean        remove what a demo left behind that was killed, and end
  --help         show this
`;

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const print = (line = ""): void => void process.stdout.write(`${line}\n`);
const bold = (text: string): string => styleText("bold", text, { stream: process.stdout });
const dim = (text: string): string => styleText("dim", text, { stream: process.stdout });

interface Request {
  readonly kind: "help" | "clean" | "run";
  readonly forMinutes?: number;
}

function parseRequest(argv: readonly string[]): Request {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      help: { type: "boolean", short: "h" },
      clean: { type: "boolean" },
      for: { type: "string" },
    },
  });
  if (values.help) return { kind: "help" };
  if (values.clean) return { kind: "clean" };
  if (values.for === undefined) return { kind: "run" };
  const forMinutes = Number(values.for);
  if (!(forMinutes > 0 && forMinutes <= 24 * 60))
    throw new Error(`cannot run for ${values.for} minutes: it must be a number above 0, a day at most`);
  return { kind: "run", forMinutes };
}

/** Removes what a killed demo left: its directory here; its host, whose guest ended with it. */
function sweep(): void {
  for (const path of sweepDirectories()) say(`removing ${path}, left behind by a demo that was killed`);
  sweepRuns(cacheDirectory(), say);
}

function describe({ url, commands, tries }: Demo, forMinutes: number | undefined): void {
  const { shell, steward, key, ca } = commands;
  print();
  print(bold(`The host ${hostName} runs, and Steward on it. What there is to see:`));
  for (const { says } of scenes) print(`  - ${says}`);
  print();
  print(`address      ${url}`);
  print(`key          ${key}`);
  print(`certificate  ${ca}`);
  print(`client       ${steward}`);
  print(`shell        ${shell}`);
  print();
  print(bold("To try, in another terminal, as root:"));
  for (const [at, { title, line, exitCode }] of tries.entries()) {
    const found = exitCode === 0 ? "" : ` (ends with ${exitCode}: it finds trouble)`;
    print();
    print(dim(`${String(at + 1).padStart(2)}. ${title}${found}`));
    print(`    ${line}`);
  }
  print();
  print(forMinutes === undefined ? "Ctrl-C ends and removes it." : `It ends in ${forMinutes} minutes, or with Ctrl-C.`);
}

async function main(argv: readonly string[]): Promise<number> {
  const request = parseRequest(argv);
  if (request.kind === "help") {
    process.stdout.write(usage);
    return 0;
  }
  const missing = missingForDemo();
  if (missing.length > 0) throw new Error(`cannot run the demo: missing: ${missing.join("; ")}`);
  sweep();
  if (request.kind === "clean") return 0;
  // Before it runs a signal ends the process at once; what is there by then goes with it.
  const endNoMore = endAtOnce(130);
  const demo = await startDemo(say);
  try {
    const end = ending(request.forMinutes);
    endNoMore();
    describe(demo, request.forMinutes);
    await end;
    endOnce();
    say("shutting down and removing everything");
  } finally {
    await demo.stop();
  }
  return 0;
}

endWithStarter();
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  say(errorMessage(error));
  process.exitCode = 2;
}
