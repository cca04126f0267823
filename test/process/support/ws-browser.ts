import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import { chromiumOptions } from "./chromium.ts";
import type { Workspace } from "./workspace.ts";

/**
 * Prints why no browser can be driven here, if so, and says whether one can.
 * @throws Error in CI (`CI=true`), where a skipped test would go unnoticed.
 */
export function hasBrowser(): boolean {
  if (existsSync("/usr/bin/chromium")) return true;
  const reason = "apt-get install chromium";
  if (process.env["CI"] === "true") throw new Error(`cannot drive a browser, and in CI nothing is skipped: ${reason}`);
  process.stderr.write(`skipped: the stream in a browser (${reason})\n`);
  return false;
}

/** A page of a browser. */
export interface Page {
  readonly goTo: (url: string) => Promise<void>;
  /** The value of an expression in the page; of what it resolves to, where it is a promise. */
  readonly evaluate: (expression: string) => Promise<unknown>;
}

/** Opens a page in a browser of its own, which ends with the workspace. */
export async function openPage(workspace: Workspace): Promise<Page> {
  const server = await chromium.launchServer(chromiumOptions(workspace));
  workspace.adopt(server.process());
  const page = await (await chromium.connect(server.wsEndpoint())).newPage();
  return {
    goTo: async (url) => void (await page.goto(url)),
    evaluate: (expression) => page.evaluate(expression),
  };
}
