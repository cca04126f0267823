import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { Browser, Page } from "../process/support/chromium.ts";
import { type RunningService, startService } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser } from "../process/support/ws-browser.ts";
import { type OpenConsole, openConsole, signIn, startBrowser, tabTo } from "./support/console.ts";

const slowMs = 180_000;
const settings = "updates: { enabled: false }\nconnectors: { discover: false }\n";

const workspace = createWorkspace();
let browser: Browser;

type Locator = ReturnType<Page["locator"]>;

describe.runIf(hasBrowser())("a session in the console", () => {
  beforeAll(async () => {
    browser = await startBrowser(workspace);
  });
  afterAll(async () => {
    await browser?.close();
    await workspace.dispose();
  });

  const open = async ({ url, adminKey: key }: RunningService): Promise<OpenConsole> => {
    const console = await openConsole(browser, { url, key });
    console.page.setDefaultTimeout(slowMs);
    return console;
  };

  it.each([
    ["by mouse", (_: Page, button: Locator) => button.click()],
    [
      "by keyboard",
      async (page: Page, button: Locator) => {
        await tabTo(page, button);
        await page.keyboard.press("Enter");
      },
    ],
  ])(
    "that is ended in one tab %s is ended in the others, and one that begins there begins in them",
    async (_, leave) => {
      const service = await startService(workspace, { settings, environment: { STEWARD_RATE_LIMITS: "off" } });
      const { page, context, open: to } = await open(service);
      const other = await context.newPage();
      other.setDefaultTimeout(slowMs);
      await other.goto(`${service.url}/console/checks`);
      await other.getByRole("heading", { level: 1, name: "Checks" }).waitFor();
      const [session] = (await createClient({ url: service.url, key: service.adminKey }).listSessions()).sessions;
      expect(session).toBeDefined();
      await to("access");
      await leave(page, page.getByRole("button", { name: "Sign out", exact: true }));
      for (const each of [page, other]) {
        await each.getByRole("heading", { name: "Sign in" }).waitFor();
        await each.getByText("Signed out.").waitFor();
      }
      const { sessions } = await createClient({ url: service.url, key: service.adminKey }).listSessions();
      expect(sessions).toEqual([]);
      await signIn(page, service.url, service.adminKey, "access");
      await other.getByRole("heading", { level: 1, name: "Checks" }).waitFor();
      await context.close();
    },
  );
});
