/** A terminal that is drawn as a whole. */
export interface FullScreen {
  readonly size: () => { readonly columns: number; readonly rows: number };
  /** Takes the terminal. @returns what gives it back as it was, once. */
  readonly open: (on: {
    readonly onKey: (key: string) => void;
    readonly onResize: () => void;
    readonly onSignal: (signal: "SIGINT" | "SIGTERM" | "SIGHUP") => void;
  }) => () => void;
  /** Draws all lines, each of which fits. */
  readonly draw: (lines: readonly string[]) => void;
}

const esc = "\u001b";
/** The other page of the terminal without a cursor, and no line that continues in the next (xterm's control sequences). */
const take = `${esc}[?1049h${esc}[?25l${esc}[?7l${esc}[2J`;
const giveBack = `${esc}[?7h${esc}[?25h${esc}[?1049l`;
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const usual = { columns: 80, rows: 24 };

/** An arrow or a page key, or one character. */
const keyPattern = new RegExp(`${esc}(?:\\[[0-9;]*[A-Za-z~]|O[A-Z])|[^]`, "gu");

/** The full screen of a process; undefined where it has no terminal. @param write writes to standard output. */
export function fullScreenOfProcess(
  { stdout, env }: Readonly<Pick<NodeJS.Process, "stdout" | "env">>,
  stdin: () => NodeJS.ReadStream,
  write: (text: string) => void,
): FullScreen | undefined {
  if (!stdout.isTTY || env["TERM"] === "dumb") return undefined;
  return {
    size: () => ({ columns: stdout.columns || usual.columns, rows: stdout.rows || usual.rows }),
    open({ onKey, onResize, onSignal }) {
      const input = stdin();
      const onData = (data: Buffer | string): void => {
        for (const key of String(data).match(keyPattern) ?? []) onKey(key);
      };
      let isOpen = true;
      const close = (): void => {
        if (!isOpen) return;
        isOpen = false;
        for (const signal of signals) process.off(signal, onSignal);
        process.off("exit", close);
        stdout.off("resize", onResize);
        input.off("data", onData);
        input.setRawMode(false);
        input.pause();
        write(giveBack);
      };
      for (const signal of signals) process.on(signal, onSignal);
      process.on("exit", close);
      stdout.on("resize", onResize);
      input.setRawMode(true);
      input.on("data", onData);
      write(take);
      return close;
    },
    draw(lines) {
      const rows = lines.map((line) => `${line}${esc}[K`);
      write(`${esc}[H${rows.join("\r\n")}${esc}[J`);
    },
  };
}
