import { readFileSync } from "node:fs";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

// What packagers and scripts ask most is answered at once.
if (process.argv.length === 3 && ["--version", "-V"].includes(process.argv[2] ?? "")) {
  await new Promise((resolve) => process.stdout.write(`${version}\n`, resolve));
  process.exit(0);
}
// Completion asks at each press of a key, and needs little of the program.
if (process.argv[2] === "__complete") {
  const { namesToOffer } = await import("./complete-names.ts");
  const lines = await namesToOffer(process.argv.slice(3));
  await new Promise((resolve) => process.stdout.write(lines, resolve));
  process.exit(0);
}
const { argv, env: environment } = process;
const run = async (): Promise<number> => {
  // Root does a task for each change that the service asks for: no more is loaded than that needs.
  if (argv[2] === "task")
    return (await import("./task-command.ts")).runTaskCommand(argv.slice(3), { version, environment });
  // Of what others control, which may never answer: this process is then left behind.
  if (argv[2] === "look") return (await import("./look-command.ts")).runLookCommand(argv[3]);
  // The service needs nothing of the command line, which would be a tenth of the work of its start.
  if (argv[2] === "serve") {
    const { parseServe, runServeCommand } = await import("./serve-command.ts");
    const options = parseServe(argv.slice(3));
    if (options !== undefined) return runServeCommand(options, { version, environment });
  }
  return (await import("./command-line.ts")).runCommandLine(version);
};
const code = await run();
// What was printed is out before the process ends, however slowly it is read.
await new Promise((resolve) => process.stdout.write("", resolve));
process.exit(code);
