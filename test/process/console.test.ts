import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { UpdateCheck } from "#contract/updates.ts";
import { axeFaults, type OpenConsole, openConsole, overflowOf, startBrowser } from "../console/support/console.ts";
import type { Browser } from "./support/chromium.ts";
import { type RunningService, startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";
import { hasBrowser } from "./support/ws-browser.ts";

const workspace = createWorkspace();
let service: RunningService;
let browser: Browser;

/** Most that a first view may take over the network, in bytes. */
const mostOfFirstView = 80 * 1024;

const own = (): string => `http://localhost:${service.port}`;

describe.runIf(hasBrowser())("the console", () => {
  beforeAll(async () => {
    const settings = "updates: { enabled: false }\nconnectors: { discover: false }\nhealth: { checks: {} }\n";
    service = await startService(workspace, { settings, environment: { STEWARD_RATE_LIMITS: "off" } });
    browser = await startBrowser(workspace);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await workspace.dispose();
  });

  const openPages = async (console: OpenConsole): Promise<readonly string[]> => {
    const links = console.page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    return links.evaluateAll((all) => all.map((each) => (each as HTMLAnchorElement).pathname.split("/").at(-1) ?? ""));
  };

  it("has each of its pages without a fault of accessibility, of width or of a script", async () => {
    const console = await openConsole(browser, { url: own(), key: service.adminKey });
    const pages = await openPages(console);
    expect(pages.length).toBeGreaterThan(5);
    for (const path of pages) {
      await console.open(path);
      expect([path, await axeFaults(console.page)]).toEqual([path, []]);
      await console.look({ width: 320, theme: "dark" });
      expect([path, await axeFaults(console.page), await overflowOf(console.page)]).toEqual([path, [], 0]);
      await console.look({ width: 1280, theme: "light" });
    }
    // What this machine lacks is answered with 503, which the browser reports.
    expect(console.faults.filter((each) => !each.includes("503"))).toEqual([]);
    await console.context.close();
  });

  it("sends less than 80 KB for its first view, compressed, and nothing twice", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const sizes: number[] = [];
    page.on("response", (response) => {
      const length = Number(response.headers()["content-length"] ?? 0);
      if (response.url().includes("/console/")) sizes.push(length);
    });
    await page.goto(`${own()}/console/`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(sizes.length).toBeGreaterThanOrEqual(4);
    expect(sizes.every((size) => size > 0)).toBe(true);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(mostOfFirstView);
    const [script = ""] = await page.evaluate(() => [...document.scripts].map(({ src }) => src));
    const headers = { "Accept-Encoding": "gzip" };
    const again = await fetch(script, { headers });
    expect(Object.fromEntries(again.headers)).toMatchObject({
      ...{ "cache-control": "public, max-age=31536000, immutable", "content-encoding": "gzip" },
      ...{ vary: expect.stringContaining("Accept-Encoding"), "x-content-type-options": "nosniff" },
    });
    const first = await fetch(`${own()}/console/logs`);
    const tag = first.headers.get("etag") ?? "";
    expect([first.status, (await fetch(`${own()}/console/`, { headers: { "If-None-Match": tag } })).status]).toEqual([
      200, 304,
    ]);
    for (const path of ["none.js", "..%2fprogram.mjs", "index.html.br"])
      expect([path, (await fetch(`${own()}/console/${path}`)).status]).toEqual([path, 404]);
    await context.close();
  });

  it("shows what a key may not do as disabled, and names the scope", async () => {
    const { key } = (await createClient({ url: service.url, key: service.adminKey }).createKey({
      body: { name: "reader", scopes: ["health:read", "system:read"] },
    })) as { key: string };
    const console = await openConsole(browser, { url: own(), key });
    await console.open("users");
    const problem = console.page.getByRole("alert").first();
    await problem.waitFor();
    expect(await problem.textContent()).toBe("Your key lacks the scope users:read.");
    expect(await console.page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    expect(await axeFaults(console.page)).toEqual([]);
    await console.context.close();
  });

  it("has a call that waits for approval approved in another session, each side seeing it", async () => {
    const api = createClient({ url: service.url, key: service.adminKey });
    const scopes = ["health:read", "system:read", "propose:health:fix:silences"];
    const { key } = (await api.createKey({ body: { name: "deploy", scopes } })) as { key: string };
    const { page: proposer, open, context } = await openConsole(browser, { url: own(), key, elevated: true });
    await open("checks?check=memory");
    await proposer.getByRole("button", { name: "Silence", exact: true }).click();
    const silence = proposer.getByRole("dialog", { name: "Silence" });
    await silence.getByText("Another person has to approve it.").waitFor();
    await silence.getByRole("button", { name: "Silence", exact: true }).click();
    await silence.getByText("It waits for approval.").waitFor();
    await silence.getByRole("link", { name: "Show the approval" }).click();
    const waiting = proposer.getByRole("dialog", { name: "Silence alert" });
    await waiting.getByText("It waits for 1 more approval.").waitFor();
    expect(await proposer.getByRole("dialog").count()).toBe(1);
    const missing = "Your key has proposed it: another one has to approve it, with the scope health:fix:silences.";
    const approve = waiting.getByRole("button", { name: "Approve" });
    expect([await approve.getAttribute("aria-disabled"), await approve.getAttribute("title")]).toEqual([
      "true",
      missing,
    ]);

    const admin = await openConsole(browser, { url: own(), key: service.adminKey, elevated: true });
    await admin.page.getByRole("link", { name: "1 call waits for approval" }).click();
    await admin.page.getByRole("link", { name: "Silence alert" }).click();
    await admin.page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    const dialog = admin.page.getByRole("dialog", { name: "Approve: Silence alert" });
    await dialog.getByText("What will be done").waitFor();
    expect((await api.listSilences()).silences).toEqual([]);
    await dialog.getByRole("button", { name: "Approve" }).click();
    for (const page of [admin.page, proposer])
      await page.getByRole("dialog", { name: "Silence alert" }).getByText("It was carried out.").waitFor();
    expect((await api.listSilences()).silences).toMatchObject([{ check: "memory", created_by: "deploy" }]);
    await context.close();
    await admin.context.close();
  });

  it("leaves out the age of package lists where there are none", async () => {
    const console = await openConsole(browser, { url: own(), key: service.adminKey });
    const json: UpdateCheck = {
      system: { available: false, version: "", release_date: "", is_security: false, changelog: "" },
      packages: { total: 0, security: 0, updates: [] },
      held: [],
      package_manager: "apt",
      security_known: true,
      checked_at: null,
      cache_age_seconds: null,
      requires_reboot: false,
      requires_restart: [],
    };
    await console.page.route(/\/updates\/check$/, (route) => route.fulfill({ json }));
    await console.open("updates");
    await console.page.getByText("there are no package lists yet").waitFor();
    expect(await console.page.getByText("Package lists from").count()).toBe(0);
    await console.context.close();
  });

  it("sends with a click what was typed right before it", async () => {
    const { page, context, open } = await openConsole(browser, { url: own(), key: service.adminKey, elevated: true });
    const bodies: unknown[] = [];
    const plan = {
      dry_run: true,
      steps: ["take a snapshot"],
      units: [],
      packages: [],
      bytes: 0,
      requires_reboot: false,
    };
    await page.route(/\/updates\/snapshots(\?.*)?$/, async (route, request) => {
      if (request.method() !== "POST") return route.fallback();
      if (request.url().includes("dry_run=true")) return route.fulfill({ json: plan });
      bodies.push(request.postDataJSON());
      return route.fulfill({ json: { message: "taken" } });
    });
    await open("updates?tab=snapshots");
    await page.getByRole("button", { name: "Take a snapshot" }).click();
    const dialog = page.getByRole("dialog");
    const button = dialog.getByRole("button", { name: "Take a snapshot" });
    await button.waitFor();
    await dialog.getByLabel("What it is for").fill("before the new database");
    await button.click();
    await dialog.getByText("taken").waitFor();
    expect(bodies).toEqual([{ description: "before the new database" }]);
    await context.close();
  });

  it("shows the whole hint of the filter of listening ports", async () => {
    const console = await openConsole(browser, { url: own(), key: service.adminKey });
    await console.open("network");
    const field = console.page.getByPlaceholder("Port, address or service");
    await field.waitFor();
    for (const width of [1280, 320]) {
      await console.look({ width, theme: "light" });
      // As text it takes the space that it takes as a hint; no browser says of a hint whether it is cut off.
      await field.fill("Port, address or service");
      expect([width, await field.evaluate((element) => element.scrollWidth - element.clientWidth)]).toEqual([width, 0]);
    }
    await console.context.close();
  });

  it("says that the connection is lost, keeps what was typed, and continues when it is back", async () => {
    const console = await openConsole(browser, { url: own(), key: service.adminKey });
    await console.open("disks");
    const { page, context } = console;
    const directory = page.getByLabel("Directory");
    await directory.fill("/usr/share/doc");
    await context.setOffline(true);
    await page.getByRole("button", { name: "Measure" }).click();
    const banner = page.getByText("The connection to the service is lost.");
    await banner.waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await context.setOffline(false);
    await page.getByRole("button", { name: "Try now" }).click();
    await banner.waitFor({ state: "detached" });
    expect(await directory.inputValue()).toBe("/usr/share/doc");
    await page.getByRole("button", { name: "Measure" }).click();
    await page.getByText(/ in .* files and directories/).waitFor();
    await context.close();
  });
});
