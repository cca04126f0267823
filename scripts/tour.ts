import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { errorMessage } from "#kernel/errors.ts";
import { startDemo } from "../demo/demo.ts";
import { missingForDemo } from "../demo/requirements.ts";
import { createNormaliser, differenceOf, textOf } from "./tour/normal.ts";
import { createScreen } from "./tour/screen.ts";
import { stops } from "./tour/stops.ts";
import { drawSvg } from "./tour/svg.ts";
import { record } from "./tour/terminal.ts";

const usage = `usage: npm run tour [-- [--check] [--shell FILE]]

Records the tour of the README: the real commands, on a terminal, on the host of the demo.
Writes docs/tour.svg and docs/tour.txt.

  --check       write nothing; fail where commands, their exit codes or the form of what they say have changed
  --shell FILE  use a demo that runs: FILE is its command that leads inside
`;

const size = { columns: 112, rows: 34 } as const;
const promptText = "root@web1:~# ";
const prompt = `\u001b[1;32mroot@web1\u001b[0m:\u001b[1;34m~\u001b[0m# `;
const typedMs = 45;
const mostPauseMs = 900;
const svgFile = new URL("../docs/tour.svg", import.meta.url);
const textFile = new URL("../docs/tour.txt", import.meta.url);

/** Words as somebody types them: a piece at a time. */
const typed = (text: string) =>
  (text.match(/\S+ ?| +/g) ?? []).map((piece, at) => ({ atMs: (at + 1) * typedMs * 4, text: piece }));

interface Tour {
  readonly svg: string;
  readonly text: string;
}

async function recordTour(shell: string): Promise<Tour> {
  const screen = createScreen(size, createNormaliser());
  const texts: string[] = [];
  for (const { comment, words, exitCode, holdMs } of stops) {
    const command = words.join(" ");
    const recording = await record([shell, ...words], size);
    const said = recording.chunks.map(({ text }) => text).join("");
    if (recording.exitCode !== exitCode)
      throw new Error(`cannot record ${command}: it ended with ${recording.exitCode}, not with ${exitCode}:\n${said}`);
    await screen.clear();
    await screen.play([{ atMs: 0, text: `\u001b[2m# ${comment}\u001b[0m\r\n${prompt}` }], 0);
    screen.pause(700);
    await screen.play(typed(command), mostPauseMs);
    screen.pause(300);
    await screen.play([{ atMs: 0, text: "\r\n" }, ...recording.chunks], mostPauseMs);
    screen.pause(holdMs);
    texts.push(screen.lines().map(textOf).join("\n"));
    if (!texts.at(-1)?.includes(`${promptText}${command}`))
      throw new Error(`cannot record ${command}: it left the screen`);
  }
  const svg = drawSvg(screen.frames(), screen.nowMs(), size, "Steward: look, understand, mend, update, go back");
  return { svg, text: `${texts.join("\n\n")}\n` };
}

async function withShell<T>(given: string | undefined, use: (shell: string) => Promise<T>): Promise<T> {
  if (given !== undefined) return use(given);
  const missing = missingForDemo();
  if (missing.length > 0) throw new Error(`cannot record the tour: missing: ${missing.join("; ")}`);
  const demo = await startDemo((line) => console.error(line));
  try {
    return await use(demo.commands.shell);
  } finally {
    await demo.stop();
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { help: { type: "boolean" }, check: { type: "boolean" }, shell: { type: "string" } },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const tour = await withShell(values.shell, recordTour);
  if (!values.check) {
    writeFileSync(svgFile, tour.svg);
    writeFileSync(textFile, tour.text);
    console.log(`recorded ${stops.length} commands, ${Math.round(tour.svg.length / 1024)} KiB`);
    return 0;
  }
  const stale = differenceOf(readFileSync(textFile, "utf8"), tour.text);
  if (stale === undefined) return 0;
  console.error(
    `the tour is stale (npm run tour records it anew):\n  docs/tour.txt: ${stale.before}\n  now:           ${stale.now}`,
  );
  return 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(errorMessage(error));
  process.exitCode = 2;
}
