import { afterAll, beforeAll, expect, it } from "vitest";
import { sleeper } from "../host/support/bus.ts";
import { describeOnHost } from "../host/support/session.ts";
import type { Browser } from "../process/support/chromium.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { axeFaults, looks, type OpenConsole, openConsole, overflowOf, startBrowser } from "./support/console.ts";

const paths = [
  ...["", "services", "logs", "checks", "updates", "packages", "operations", "processes"],
  ...["disks", "network", "users", "time", "approvals", "access"],
] as const;
const longName = `a-unit-whose-name-is-as-long-as-names-of-generated-units-often-are-${"x".repeat(120)}.service`;

describeOnHost("each page of the console", (session) => {
  const workspace = createWorkspace();
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser(workspace);
    await session.writeUnits({ [longName]: sleeper, "broken.service": ["[Service]", "ExecStart=/bin/false"] });
    await session.shell(`systemctl start ${longName}; systemctl start broken; logger -t probe ${"word".repeat(400)}`);
  });
  afterAll(async () => {
    await browser?.close();
    await workspace.dispose();
  });

  async function wholeIn(console: OpenConsole, path: string): Promise<void> {
    await console.open(path);
    for (const look of looks) {
      await console.look(look);
      expect([path, look, await axeFaults(console.page), await overflowOf(console.page)]).toEqual([path, look, [], 0]);
    }
  }

  it("is the list of this test", async () => {
    const console = await openConsole(browser, { url: session.service.url, key: session.service.adminKey });
    const links = console.page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    const found = await links.evaluateAll((all) =>
      all.map((each) => (each as HTMLAnchorElement).pathname.split("/").at(-1) ?? ""),
    );
    expect(found).toEqual(paths);
    await console.context.close();
  });

  it.each(paths)("/%s has no fault by axe, of width or of a script in any look, with data", async (path) => {
    const console = await openConsole(browser, { url: session.service.url, key: session.service.adminKey });
    await wholeIn(console, path);
    expect(console.faults).toEqual([]);
    await console.context.close();
  });

  it.each(paths)("/%s has none of these for a key that may read nothing of it", async (path) => {
    const { key } = (await session.api.createKey({
      body: { name: `nothing of ${path || "all"}`, scopes: ["connectors:read"] },
    })) as { key: string };
    const console = await openConsole(browser, { url: session.service.url, key });
    await wholeIn(console, path);
    const pageErrors = console.faults.filter((each) => !each.includes("403"));
    expect(pageErrors).toEqual([]);
    await console.context.close();
  });
});
