import type { Session } from "./session.ts";

/** A unit that writes numbered lines. */
export interface LineWriter {
  readonly unit: string;
  /** The user that it runs as; journald gives a person's lines a file of their own. */
  readonly user?: string;
}

const program = `
import sys, time
unit, count, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
begin = time.monotonic()
for number in range(count):
    print("%s %d" % (unit, number))
    if (number + 1) % 20 == 0:
        sys.stdout.flush()
        ahead = begin + (number + 1) / each - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
sys.stdout.flush()
`;

/**
 * Starts units that each write so many lines \`<unit> <number>\`, numbers from 0 on.
 * @returns a promise that resolves when all have ended, each with success.
 */
export async function startLineWriters(
  { host }: Pick<Session, "host">,
  writers: readonly LineWriter[],
  { count, perSecond }: { readonly count: number; readonly perSecond: number },
): Promise<{ readonly ended: Promise<void> }> {
  await host.writeFile("/opt/lines.py", program, 0o755);
  const run = async ({ unit, user }: LineWriter): Promise<void> => {
    const options = [
      "--quiet",
      "--wait",
      "--collect",
      `--unit=${unit}`,
      ...(user === undefined ? [] : [`--uid=${user}`]),
    ];
    const command = ["python3", "/opt/lines.py", unit, String(count), String(perSecond)];
    await host.exec(["systemd-run", ...options, "-p", "LogRateLimitIntervalSec=0", ...command]);
  };
  const ended = Promise.all(writers.map(run)).then(() => undefined);
  ended.catch(() => undefined);
  return { ended };
}

const lineForm = /^(\S+\.service) (\d+)$/;

/** A numbered line of a writer; undefined for any other message. */
function parseLine(message: string): { readonly unit: string; readonly number: number } | undefined {
  const [, unit, number] = lineForm.exec(message) ?? [];
  return unit === undefined ? undefined : { unit, number: Number(number) };
}

/** What is wrong with the lines of a writer that should be those from `first` on, each once and in order; undefined if nothing is. */
export function faultOfLines(
  messages: readonly string[],
  { unit, first, count }: { readonly unit: string; readonly first: number; readonly count: number },
): string | undefined {
  const numbers = messages.flatMap((message) => {
    const line = parseLine(message);
    return line?.unit === unit ? [line.number] : [];
  });
  const at = numbers.findIndex((number, index) => number !== first + index);
  if (at !== -1) return `${unit}: ${numbers[at]} stands where ${first + at} should`;
  const missing = count - first - numbers.length;
  return missing === 0 ? undefined : `${unit}: ${missing} lines are missing at the end`;
}
