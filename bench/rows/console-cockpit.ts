import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { signIn } from "../../test/console/support/console.ts";
import { missingRequirements } from "../../test/host/requirements.ts";
import { startBrowser, whyNoBrowser } from "../browser-page.ts";
import { type CockpitHost, withCockpitHost } from "../cockpit-host.ts";
import { bigJournal, whyNoLogRows } from "../log-queries.ts";
import { compareAll, type Line, type Row, type RowOptions, type Subject, type Unit } from "../row.ts";

const entries = 1_000_000;
const service = "redis.service";
/** Before the oldest entry. */
const since = "2025-01-01";
const timeoutMs = 120_000;
/** Both load their other pages once the first one stands. */
const settleMs = 5_000;
const viewport = { width: 1280, height: 800 };

const peer = "the logs page of Debian's Cockpit";
const subjectOf = (work: string, unit: Unit): Subject => ({ work, peer, unit, judged: "ours/peer" });
const bytes = subjectOf("the console's logs page in Chromium, first visit: bytes of all that comes", "KiB");
const first = subjectOf("the same visit: until the first entry is shown", "ms");
const errors = subjectOf(
  "the errors of one unit among a million entries, by their address: until the newest is shown",
  "ms",
);

interface Visit {
  readonly kib: number;
  readonly ms: number;
  readonly message: string;
}

interface Side {
  /** Signed in already. */
  readonly context: BrowserContext;
  readonly url: string;
  /** Runs in the page: the message of the newest entry once it is shown. */
  readonly newest: () => string | undefined;
  readonly logs: string;
  readonly errorsOfUnit: string;
}

/** Opens an address in a browser that has nothing in its cache. */
async function visit(browser: Browser, side: Side, path: string): Promise<Visit> {
  const context = await browser.newContext({ viewport, storageState: await side.context.storageState() });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(timeoutMs);
    const devtools = await context.newCDPSession(page);
    await devtools.send("Network.enable");
    let received = 0;
    devtools.on("Network.dataReceived", ({ encodedDataLength: length }) => (received += length));
    devtools.on(
      "Network.webSocketFrameReceived",
      ({ response }) => (received += Buffer.byteLength(response.payloadData)),
    );
    await page.goto(`${side.url}${path}`);
    // Asked in each frame that is painted.
    const shown = await page.waitForFunction(side.newest);
    const [message = "", ms] = [await shown.jsonValue(), await page.evaluate(() => performance.now())];
    await sleep(settleMs);
    return { kib: received / 1024, ms, message };
  } finally {
    await context.close();
  }
}

const newContext = async (browser: Browser, enter: (page: Page) => Promise<void>): Promise<BrowserContext> => {
  const context = await browser.newContext({ viewport });
  const page = await context.newPage();
  page.setDefaultTimeout(timeoutMs);
  // It stays open: Cockpit ends a session that no tab uses.
  await enter(page);
  return context;
};

async function measureOn(host: CockpitHost, browser: Browser, options: RowOptions): Promise<readonly Line[]> {
  const ours: Side = {
    context: await newContext(browser, (page) => signIn(page, host.ours.url, host.ours.key)),
    url: host.ours.url,
    newest: () => {
      const rows = [...document.querySelectorAll(".log-row:not([hidden])")];
      const last = rows.find((row) => row.getAttribute("aria-posinset") === row.getAttribute("aria-setsize"));
      const message = last?.querySelector(".log-message")?.textContent;
      return message === "…" ? undefined : message;
    },
    logs: "/console/logs",
    errorsOfUnit: `/console/logs?unit=${service}&priority=3&range=all`,
  };
  const cockpit: Side = {
    context: await newContext(browser, host.signInToCockpit),
    url: host.cockpit.url,
    newest: () =>
      document
        .querySelector<HTMLIFrameElement>("iframe[name='cockpit1:localhost/system/logs']")
        ?.contentDocument?.querySelector(".cockpit-log-message")?.textContent,
    logs: "/system/logs",
    errorsOfUnit: `/system/logs#/?priority=err&service=${service}&since=${since}`,
  };
  const found = { ours: "", peer: "" };
  const errorsOf = async (name: "ours" | "peer"): Promise<readonly number[]> => {
    const side = name === "ours" ? ours : cockpit;
    const { ms, message } = await visit(browser, side, side.errorsOfUnit);
    found[name] = message;
    return [ms];
  };
  const firstOf = async (side: Side): Promise<readonly number[]> => {
    const { kib, ms } = await visit(browser, side, side.logs);
    return [kib, ms];
  };
  const opened = await compareAll(
    [bytes, first],
    {
      ours: () => firstOf(ours),
      peer: () => firstOf(cockpit),
      notes: () => [
        `Cockpit ${host.cockpit.version} of Debian, over HTTP, in the same host; all that comes until ${settleMs / 1000} s after the first entry`,
      ],
    },
    options,
  );
  const ofUnit = await compareAll(
    [errors],
    {
      ours: () => errorsOf("ours"),
      peer: () => errorsOf("peer"),
      notes: () => {
        if (found.ours !== found.peer)
          throw new Error(`cannot compare: ours shows ${found.ours.slice(0, 80)}, Cockpit ${found.peer.slice(0, 80)}`);
        return ["both show the same entry"];
      },
    },
    options,
  );
  return [...opened, ...ofUnit];
}

export const consoleCockpit: Row = {
  name: "console-cockpit",
  summary:
    "the console's logs page beside that of Debian's Cockpit in the same host: bytes, first entry, errors of a unit",
  isOnlyNamed: true,
  async measure(options) {
    const lacking = missingRequirements();
    const missing =
      whyNoBrowser() ??
      whyNoLogRows() ??
      (lacking.length > 0 ? `the test host needs ${lacking.join("; ")}` : undefined);
    if (missing !== undefined) return [bytes, first, errors].map((subject) => ({ ...subject, skipped: missing }));
    const journal = await bigJournal(entries, options.say);
    return withCockpitHost({ journal, groups: ["systemd-journal"] }, options.say, async (host) => {
      const browser = await startBrowser();
      try {
        return await measureOn(host, browser, options);
      } finally {
        await browser.close();
      }
    });
  },
};
