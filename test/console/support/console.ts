import axe from "axe-core";
import { type Browser, type BrowserContext, launchChromium, type Page } from "../../process/support/chromium.ts";
import type { Workspace } from "../../process/support/workspace.ts";

export interface Look {
  readonly width: number;
  readonly theme: "light" | "dark" | "forced";
}

/** Every way in which a page must be whole. */
export const looks: readonly Look[] = [1280, 320].flatMap((width) =>
  (["light", "dark", "forced"] as const).map((theme) => ({ width, theme })),
);

export interface ConsoleOptions {
  /** Of the service, with its port. */
  readonly url: string;
  readonly key: string;
  readonly look?: Look;
  /** With administrative access. */
  readonly elevated?: boolean;
}

/** The console in a browser, signed in. */
export interface OpenConsole {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Opens a page by its path and query: `services?unit=nginx.service`. */
  readonly open: (path: string) => Promise<void>;
  /** Errors in the browser's console, of scripts, and requests to elsewhere, so far. */
  readonly faults: readonly string[];
  readonly look: (look: Look) => Promise<void>;
}

export const startBrowser = (workspace: Workspace): Promise<Browser> => launchChromium(workspace);

/** Signs in at a page of the console as a person does. */
export async function signIn(page: Page, origin: string, key: string, path = ""): Promise<void> {
  await page.goto(`${origin}/console/${path}`);
  await page.getByLabel("Key or code").fill(key);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor({ state: "attached" });
}

/** Gets administrative access as a person does. */
export async function elevate(page: Page, key: string): Promise<void> {
  await page.getByRole("button", { name: "Get administrative access" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Key or code").fill(key);
  await dialog.getByRole("button", { name: "Get administrative access" }).click();
  await dialog.waitFor({ state: "detached" });
}

/** Has the browser look at the page in this way from now on. */
export async function emulate(page: Page, { width, theme }: Look): Promise<void> {
  await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({
    colorScheme: theme === "dark" ? "dark" : "light",
    forcedColors: theme === "forced" ? "active" : "none",
  });
  await page.locator(`html[data-theme=${theme === "dark" ? "dark" : "light"}]`).waitFor();
}

/** Opens the console in a context of its own, and signs in. */
export async function openConsole(browser: Browser, options: ConsoleOptions): Promise<OpenConsole> {
  const { url, key, elevated = false, look = { width: 1280, theme: "light" } } = options;
  const context = await browser.newContext();
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) faults.push(`to ${request.url()}`);
  });
  await signIn(page, url, key);
  await emulate(page, look);
  if (elevated) await elevate(page, key);
  return {
    page,
    context,
    faults,
    look: (wanted) => emulate(page, wanted),
    async open(path) {
      await page.goto(`${url}/console/${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator(".loading").first().waitFor({ state: "detached" });
    },
  };
}

/** Goes on with a key until something has the focus, as somebody without a mouse does. */
export async function tabTo(page: Page, wanted: ReturnType<Page["locator"]>, key = "Tab"): Promise<void> {
  await wanted.waitFor();
  for (let presses = 0; presses < 150; presses += 1) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`150 presses of ${key} lead past ${String(wanted)}`);
}

/** What axe finds in the page as it is: the rule and the first element of each. */
export async function axeFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe: found } = globalThis as unknown as {
      axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    return (await found.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
  });
}

/** By how many pixels the page is wider than its window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
