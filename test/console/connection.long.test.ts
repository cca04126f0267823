import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Browser } from "../process/support/chromium.ts";
import { type RunningService, startService } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser } from "../process/support/ws-browser.ts";
import { axeFaults, type OpenConsole, openConsole, startBrowser } from "./support/console.ts";

describe.runIf(hasBrowser())("a console whose service does not answer as it should", () => {
  const workspace = createWorkspace();
  let service: RunningService;
  let browser: Browser;
  let open: OpenConsole;

  beforeAll(async () => {
    service = await startService(workspace, { environment: { STEWARD_RATE_LIMITS: "off" } });
    browser = await startBrowser(workspace);
  });
  afterAll(async () => {
    await browser?.close();
    await workspace.dispose();
  });
  beforeEach(async () => {
    open = await openConsole(browser, { url: service.url, key: service.adminKey, elevated: true });
    return () => open.context.close();
  });

  it("says that the budget of the key is used up, and continues by itself when there is some again", async () => {
    const { page } = open;
    const asked = new Set<string>();
    const body = JSON.stringify({ error: { code: "RATE_LIMITED", message: "too many requests: try again in 1 s" } });
    // Whose session it is, and what the page shows.
    await page.route(/\/auth\/whoami$|\/system\/disks$/, async (route) => {
      const { pathname } = new URL(route.request().url());
      if (asked.has(pathname)) return route.continue();
      asked.add(pathname);
      return route.fulfill({ status: 429, headers: { "Retry-After": "1" }, contentType: "application/json", body });
    });
    await open.open("disks");
    await page.getByText("too many requests: try again in 1 s").waitFor();
    await page.getByRole("region", { name: "File systems" }).waitFor();
    await page.getByText("too many requests").waitFor({ state: "detached" });
    // What the session may do is known by then as well.
    await page.getByRole("banner").getByText("Administrative access", { exact: true }).waitFor();
    expect(asked.size).toBe(2);
  });

  it("offers its new page where the service was updated meanwhile, and keeps the old one where it was not", async () => {
    const { page, context } = open;
    await open.open("disks");
    const lost = page.getByText("The connection to the service is lost.");
    const reload = page.getByRole("button", { name: "Reload", exact: true });
    const interrupt = async (): Promise<void> => {
      await context.setOffline(true);
      await page.getByRole("button", { name: "Measure" }).click();
      await lost.waitFor();
      await context.setOffline(false);
      const looked = page.waitForResponse(/\/console\/$/);
      await page.getByRole("button", { name: "Try now" }).click();
      await looked;
      await lost.waitFor({ state: "detached" });
    };
    await interrupt();
    expect(await reload.count()).toBe(0);
    const newer = "<!doctype html><title>Newer</title>";
    await page.route(/\/console\/$/, (route) => route.fulfill({ contentType: "text/html", body: newer }));
    await interrupt();
    await reload.waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await reload.click();
    await page.getByRole("heading", { name: "Disks", exact: true }).waitFor();
    await reload.waitFor({ state: "detached" });
  });

  it("says that the connection is lost where an answer ends too early, and asks again", async () => {
    const { page } = open;
    await open.open("network");
    await page.evaluate(() => {
      const { fetch } = globalThis;
      globalThis.fetch = async (input, init) => {
        const answer = await fetch(input, init);
        if (!answer.url.endsWith("/system/disks")) return answer;
        globalThis.fetch = fetch;
        return new Response(new ReadableStream({ start: (stream) => stream.error(new TypeError("cut")) }), answer);
      };
    });
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Disks" }).click();
    await page.getByText("The connection to the service is lost.").waitFor();
    await page.getByRole("region", { name: "File systems" }).waitFor();
    await page.getByText("The connection to the service is lost.").waitFor({ state: "detached" });
  });
});
