import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, FrameLocator, Locator, Page } from "playwright-core";
import { createClient } from "#client/index.ts";
import { elevate, signIn } from "../../test/console/support/console.ts";
import type { Host } from "../../test/host/host.ts";
import { missingRequirements } from "../../test/host/requirements.ts";
import { at, makePackageSources, packageFile } from "../../test/host/support/package-sources.ts";
import { startBrowser, whyNoBrowser } from "../browser-page.ts";
import { type CockpitHost, user, withCockpitHost } from "../cockpit-host.ts";
import { compare, type Line, type Row, type RowOptions } from "../row.ts";

const timeoutMs = 120_000;
const viewport = { width: 1280, height: 800 };
const peer = "Debian's Cockpit, by mouse";
const mostPresses = 200;
const changesSince = 10;
const settleMs = 5_000;

/** How somebody does a job, and how often something was pressed for it. */
interface Hand {
  readonly presses: () => number;
  readonly choose: (target: Locator) => Promise<void>;
  /** Each key counts as one that is pressed. */
  readonly type: (page: Page, text: string) => Promise<void>;
}

function mouse(): Hand {
  let presses = 0;
  return {
    presses: () => presses,
    async choose(target) {
      await target.click();
      presses += 1;
    },
    async type(page, text) {
      await page.keyboard.type(text);
      presses += text.length;
    },
  };
}

/** By the Tab key to what is meant, and Enter or the space bar there. */
function keyboard(page: Page): Hand {
  let presses = 0;
  const press = async (key: string): Promise<void> => {
    await page.keyboard.press(key);
    presses += 1;
  };
  return {
    presses: () => presses,
    async choose(target) {
      await target.waitFor();
      const before = presses;
      while (!(await target.evaluate((element) => element === document.activeElement))) {
        if (presses - before > mostPresses)
          throw new Error(`${mostPresses} presses of Tab lead past ${String(target)}`);
        await press("Tab");
      }
      await press((await target.getAttribute("type")) === "checkbox" ? "Space" : "Enter");
    },
    async type(_, text) {
      for (const key of text) await press(key);
    },
  };
}

interface Job {
  readonly name: string;
  /** Makes the trouble, before each time. */
  readonly prepare: (all: CockpitHost) => Promise<unknown>;
  /** Begins at the overview, with administrative access. */
  readonly ours: (page: Page, hand: Hand) => Promise<unknown>;
  /** The same in Cockpit, or why it has nothing for it. */
  readonly cockpit: ((page: Page, hand: Hand) => Promise<unknown>) | string;
}

const shell = async (host: Host, line: string): Promise<string> => (await host.exec(["sh", "-c", line])).stdout;
const recipes = (version: string) => [at("editor", version), at("library", version, { place: "security" })];
const frame = (page: Page, name: string): FrameLocator =>
  page.frameLocator(`iframe[name='cockpit1:localhost/${name}']`);
const planned = (page: Page): Locator => page.getByRole("dialog").last();

/** Carries out the plan that is shown. */
async function carryOut(page: Page, hand: Hand, label: string): Promise<void> {
  const button = planned(page).getByRole("button", { name: label, exact: true });
  await button.waitFor();
  const box = planned(page).getByLabel("I have read this and want it done");
  if ((await box.count()) > 0) await hand.choose(box);
  await hand.choose(button);
}

const jobs: readonly Job[] = [
  {
    name: "why is nginx down",
    prepare: ({ host }) => shell(host, "systemctl restart nginx || true"),
    async ours(page, hand) {
      await hand.choose(page.getByRole("main").getByRole("link", { name: "nginx.service" }).first());
      await page.getByRole("dialog").getByText('unknown directive "lisen"').last().waitFor();
    },
    async cockpit(page, hand) {
      await hand.choose(frame(page, "system").getByText("1 service has failed"));
      const services = frame(page, "system/services");
      await hand.choose(services.getByText("nginx", { exact: true }).first());
      await services.getByText('unknown directive "lisen"').first().waitFor();
    },
  },
  {
    name: "which update is security, and apply it with guard (Cockpit says how many, and has no guard)",
    prepare: ({ host }) =>
      // PackageKit, which Cockpit asks, does not always see what others have installed: it is started again by the next question.
      shell(
        host,
        `dpkg --force-downgrade -i ${recipes("1.0").map(packageFile).join(" ")} 2>/dev/null; systemctl stop packagekit`,
      ),
    async ours(page, hand) {
      await hand.choose(page.getByRole("navigation").getByRole("link", { name: "Updates" }));
      await hand.choose(page.getByRole("button", { name: /^Security/ }));
      await page.getByRole("row").filter({ hasText: "library" }).getByText("Security").waitFor();
      await hand.choose(page.getByRole("button", { name: "Install updates" }));
      await carryOut(page, hand, "Install updates");
      await page.getByRole("heading", { name: /changed as planned, and nothing is worse than before/ }).waitFor();
    },
    async cockpit(page, hand) {
      await hand.choose(page.locator("nav").getByText("Software updates", { exact: true }));
      const updates = frame(page, "updates");
      await hand.choose(updates.getByRole("button", { name: "Install security updates" }));
      await updates.getByText("Update was successful").waitFor();
    },
  },
  {
    name: "who restarted this yesterday",
    prepare: async ({ host, ours: { url, key } }) => {
      await shell(host, "systemd-run --unit worker sleep infinity 2>/dev/null || true");
      const client = createClient({ url, key });
      const { id, key: own } = (await client.createKey({ body: { name: "deploy", scopes: ["services:restart"] } })) as {
        id: string;
        key: string;
      };
      await createClient({ url, key: own }).restartService({ params: { name: "worker.service" }, body: {} });
      await client.revokeKey({ params: { id } });
      // Much else is done since: it is not among what the overview says of itself.
      for (let times = 0; times < changesSince; times += 1)
        await client.enableService({ params: { name: "cron.service" }, body: {} });
    },
    async ours(page, hand) {
      await hand.choose(page.getByRole("navigation").getByRole("link", { name: "Services" }));
      await page.getByRole("row").nth(1).waitFor();
      await hand.type(page, "/worker");
      await hand.choose(page.getByRole("link", { name: "worker", exact: true }));
      await page.getByRole("dialog").getByText("restart service: worker.service (deploy)").first().waitFor();
    },
    cockpit: "the log of a unit says that it was restarted, not by whom",
  },
  {
    name: "free the disk",
    prepare: async ({ host, ours }) => {
      await shell(host, "head -c 50M /dev/zero > /var/cache/apt/archives/editor_1.1_all.deb");
      await createClient(ours).getCheck({ params: { check_id: "disk_space" } });
    },
    async ours(page, hand) {
      await hand.choose(
        page.getByRole("row").filter({ hasText: "Disk space" }).getByRole("button", { name: "Fix", exact: true }),
      );
      await carryOut(page, hand, "Fix");
      await planned(page).locator(".hint.ok").waitFor();
    },
    cockpit: "its pages show how full a file system is, and remove nothing",
  },
  {
    name: "stop a runaway process",
    // It has run for longer than a list of processes is good for.
    prepare: ({ host }) => shell(host, "systemd-run --unit runaway sh -c 'while :; do :; done'; sleep 2"),
    async ours(page, hand) {
      await hand.choose(page.getByRole("navigation").getByRole("link", { name: "Processes" }));
      await hand.choose(page.getByRole("row").filter({ hasText: "runaway.service" }).getByRole("link").first());
      await hand.choose(page.getByRole("dialog").getByRole("button", { name: "End", exact: true }));
      await carryOut(page, hand, "End");
      await planned(page).locator(".hint.ok").waitFor();
    },
    cockpit: "it has no list of processes",
  },
];

/** The overview of ours, as somebody sees it who comes to work. */
async function overview(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/console/`);
  await page.locator(".verdict").waitFor();
}

const contextOf = async (browser: Browser): Promise<Page> => {
  const page = await (await browser.newContext({ viewport })).newPage();
  page.setDefaultTimeout(timeoutMs);
  return page;
};

interface Pages {
  readonly ours: Page;
  readonly cockpit: Page;
}

async function measureJob(job: Job, all: CockpitHost, pages: Pages, options: RowOptions): Promise<readonly Line[]> {
  const presses = { mouse: 0, keyboard: 0, cockpit: 0 };
  const inOurs = (name: "mouse" | "keyboard") => async (): Promise<number> => {
    await job.prepare(all);
    await overview(pages.ours, all.ours.url);
    const hand = name === "mouse" ? mouse() : keyboard(pages.ours);
    const startedAt = performance.now();
    await job.ours(pages.ours, hand);
    presses[name] = hand.presses();
    return performance.now() - startedAt;
  };
  const work = `${job.name}: by mouse`;
  const byKeyboard = await compare(
    { work, peer: "the same by keyboard", unit: "ms", judged: "ours/peer" },
    {
      ours: inOurs("mouse"),
      peer: inOurs("keyboard"),
      notes: () => [`clicks ${presses.mouse}, presses of a key ${presses.keyboard}`],
    },
    options,
  );
  const { cockpit } = job;
  if (typeof cockpit === "string") return [byKeyboard, { work, peer, skipped: cockpit }];
  const inCockpit = async (): Promise<number> => {
    await job.prepare(all);
    await pages.cockpit.goto(`${all.cockpit.url}/system`);
    const hand = mouse();
    await frame(pages.cockpit, "system").getByText("1 service has failed").waitFor();
    // It loads its other pages once the first one stands, and makes what is clicked there meanwhile again.
    await sleep(settleMs);
    const startedAt = performance.now();
    await cockpit(pages.cockpit, hand);
    presses.cockpit = hand.presses();
    return performance.now() - startedAt;
  };
  const beside = await compare(
    { work, peer, unit: "ms", judged: "ours/peer" },
    {
      ours: inOurs("mouse"),
      peer: inCockpit,
      notes: () => [`clicks ${presses.mouse}, in Cockpit ${presses.cockpit}`],
    },
    options,
  );
  return [byKeyboard, beside];
}

/** Nginx that does not start, an update for security and another one, a disk that is said to be full. */
async function makeTrouble(host: Host): Promise<void> {
  const inside = (line: string): Promise<string> => shell(host, line);
  await makePackageSources({ host, shell: inside }, ["1.0", "1.1"].flatMap(recipes));
  await inside("echo 'lisen 80;' > /etc/nginx/conf.d/site.conf");
  // Cockpit asks the servers of Debian for changelogs, which cannot be reached here: it gets an error at once.
  await inside("echo 127.0.0.1 metadata.ftp-master.debian.org packages.debian.org >> /etc/hosts");
}

async function measureAll(all: CockpitHost, browser: Browser, options: RowOptions): Promise<readonly Line[]> {
  const pages = { ours: await contextOf(browser), cockpit: await contextOf(browser) };
  await signIn(pages.ours, all.ours.url, all.ours.key);
  await elevate(pages.ours, all.ours.key);
  await all.signInToCockpit(pages.cockpit);
  await pages.cockpit.getByRole("button", { name: "Limited access" }).click();
  await pages.cockpit.getByLabel(/^Password for/).fill(user.password);
  await pages.cockpit.getByRole("button", { name: "Authenticate" }).click();
  await pages.cockpit.getByText("Administrative access", { exact: true }).waitFor();
  const lines: Line[] = [];
  for (const job of jobs) lines.push(...(await measureJob(job, all, pages, options)));
  return lines;
}

export const consoleJobs: Row = {
  name: "console-jobs",
  summary: "five jobs in the console by mouse and by keyboard, and in Debian's Cockpit as far as it has them",
  isOnlyNamed: true,
  async measure(options) {
    const lacking = missingRequirements();
    const missing = whyNoBrowser() ?? (lacking.length > 0 ? `the test host needs ${lacking.join("; ")}` : undefined);
    if (missing !== undefined) return jobs.map(({ name }) => ({ work: `${name}: by mouse`, peer, skipped: missing }));
    const wanted = {
      packages: ["cockpit-packagekit", "nginx-light", "sudo"],
      groups: ["sudo", "systemd-journal"],
      config: `updates: { backend: packages, guard_minutes: 0.1 }
health: { checks: { disk_space: { warn: 1, fail: 99 } } }
`,
      prepare: makeTrouble,
    };
    return withCockpitHost(wanted, options.say, async (all) => {
      const browser = await startBrowser();
      try {
        return await measureAll(all, browser, options);
      } finally {
        await browser.close();
      }
    });
  },
};
