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
const { runCommandLine } = await import("./command-line.ts");
const code = await runCommandLine(version);
// What was printed is out before the process ends, however slowly it is read.
await new Promise((resolve) => process.stdout.write("", resolve));
process.exit(code);
