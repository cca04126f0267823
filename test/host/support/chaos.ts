import { expect } from "vitest";
import { streamLogs } from "#client/stream.ts";
import { type Load, startLoad } from "../../../scripts/soak/load.ts";
import { lost } from "../../../scripts/soak/run.ts";
import { eventually } from "./eventually.ts";
import { faultOfLines } from "./line-writers.ts";
import { writePlugin } from "./plugins.ts";
import type { Session } from "./session.ts";
import { property } from "./systemctl.ts";

const unit = "steward.service";
const writer = "steady.service";

/** A load of reads, changes and streams on the service in a host, and a reader of the journal that continues where it was. */
export interface Chaos {
  readonly load: Load;
  /** What was acknowledged and is not so, in words. */
  readonly lost: () => Promise<readonly string[]>;
  /** Lets something happen to the host, and then looks whether all is as it was. */
  readonly happen: (what: Happening) => Promise<void>;
  /** Ends the load, and looks at every line of the journal and every change once more. */
  readonly end: () => Promise<void>;
}

export interface Happening {
  readonly act: () => Promise<unknown>;
  /** Calls that may fail for it, by what is said of them. */
  readonly mayFail?: RegExp;
  /** Lines of the log, warnings and errors, that belong to it. */
  readonly maySay?: RegExp;
  /** Whether the service is another process afterwards; it is the same unless said. */
  readonly isReplaced?: boolean;
}

/** The components that are unhealthy; what checks find depends on what else the machine does, and on which of them have run. */
const unwell = async ({ api }: Session): Promise<readonly string[]> =>
  Object.entries((await api.getHealth()).components).flatMap(([name, isHealthy]) => (isHealthy ? [] : [name]));

/** Keeps the address over starts, and lets systemd bring the service back as the package does, but sooner. */
export async function keepAddress(session: Session, lines: readonly string[] = []): Promise<void> {
  const listen = `Environment=STEWARD_LISTEN=${new URL(session.service.url).host}`;
  const text = ["[Unit]", "StartLimitIntervalSec=0", "[Service]", "Restart=on-failure", "RestartSec=100ms", listen];
  await session.host.writeFile(`/etc/systemd/system/${unit}.d/90-chaos.conf`, `${[...text, ...lines].join("\n")}\n`);
  await session.host.exec(["systemctl", "daemon-reload"]);
  await session.host.exec(["systemctl", "restart", unit]);
}

/** Begins it. The address of the service must be kept over starts, see `keepAddress`. */
export async function startChaos(session: Session): Promise<Chaos> {
  const { url, adminKey: key } = session.service;
  await writePlugin(session, "soak", "#!/bin/sh\necho OK\n", ["description: is there"]);
  await session.writeUnits({
    [writer]: [
      "[Service]",
      `ExecStart=/usr/bin/python3 -u -c "import itertools, time; [(print('${writer}', n), time.sleep(0.02)) for n in itertools.count()]"`,
      "LogRateLimitIntervalSec=0",
    ],
  });
  const messages: string[] = [];
  const notices: unknown[] = [];
  const over = new AbortController();
  const reading = (async () => {
    const onNotice = (notice: unknown): void => void notices.push(notice);
    for await (const { message } of streamLogs({ url, key, unit: writer, signal: over.signal, onNotice })) {
      if (message.startsWith(writer)) messages.push(message);
    }
  })();
  let broken: unknown;
  reading.catch((error: unknown) => {
    broken = error;
  });
  const address = () => ({ url, key });
  const plan = {
    units: ["cron.service"],
    plugin: "soak",
    readsPerSecond: 10,
    changeMs: 250,
    fillMs: 0,
    hasModel: false,
  };
  const load = startLoad(address, plan);
  await session.host.exec(["systemctl", "start", writer]);
  const goesOn = async (): Promise<void> => {
    const count = messages.length;
    await eventually(() => {
      expect(broken).toBeUndefined();
      expect(messages.length).toBeGreaterThan(count + 20);
    });
  };
  await goesOn();
  const usual = await unwell(session);

  const troubleSince = async (since: string): Promise<readonly string[]> => {
    const lines = await session.shell(
      `journalctl --quiet --no-pager -o cat -u ${unit} --since '${since}' _TRANSPORT=stdout + _TRANSPORT=stdout UNIT=${unit} || :`,
    );
    return lines.split("\n").filter((line) => /"level":"(?:warn|error)"/.test(line));
  };
  const noLineMissing = (): void => {
    const first = Number(messages[0]?.split(" ")[1]);
    const last = Number(messages.at(-1)?.split(" ")[1]);
    expect(faultOfLines(messages, { unit: writer, first, count: last + 1 })).toBeUndefined();
    expect(notices).toEqual([]);
  };

  const lostSoFar = (): Promise<readonly string[]> => lost(address, { ...load.tally, plugin: "unsure" });

  return {
    load,
    lost: lostSoFar,
    async happen({ act, mayFail, maySay, isReplaced = false }) {
      const pid = await property(session, unit, "MainPID");
      const since = (await session.shell("date '+%F %T'")).trim();
      load.tally.faults.length = 0;
      await act();
      await eventually(async () => expect(await unwell(session)).toEqual(usual), 30_000);
      await eventually(async () => expect(await property(session, unit, "ActiveState")).toBe("active"), 30_000);
      await goesOn();
      const isSame = (await property(session, unit, "MainPID")) === pid;
      expect({ isReplaced: !isSame }).toEqual({ isReplaced });
      noLineMissing();
      expect(load.tally.faults.filter((fault) => !mayFail?.test(fault))).toEqual([]);
      expect((await troubleSince(since)).filter((line) => !maySay?.test(line))).toEqual([]);
      expect(await lostSoFar()).toEqual([]);
    },
    async end() {
      await load.stop();
      over.abort();
      await reading;
      noLineMissing();
      expect(await lost(address, load.tally)).toEqual([]);
      expect(load.tally.mutations).toBeGreaterThan(20);
    },
  };
}
