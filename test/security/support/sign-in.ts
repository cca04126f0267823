import { apiBase } from "#contract/limits.ts";
import type { Page } from "../../process/support/chromium.ts";

/** Signs in at the page of a service with a key, as a person does. */
export async function signInAt(page: Page, origin: string, key: string): Promise<void> {
  await page.goto(`${origin}/console/`);
  await page.getByLabel("Key or code").first().fill(key);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { name: "Signed in" }).waitFor();
}

/** The second half of the session that the page keeps. */
export const secretOf = (page: Page): Promise<string> =>
  page.evaluate(() => Object.entries(localStorage).find(([name]) => name.startsWith("steward-session"))?.[1] ?? "");

/** The status of a request that the page sends as its own script does. */
export const askInPage = (page: Page, path: string, method = "GET"): Promise<number> =>
  page.evaluate(
    async ([url, verb]) => {
      const [, secret = ""] = Object.entries(localStorage).find(([name]) => name.startsWith("steward-session")) ?? [];
      const answer = await fetch(url, { method: verb, headers: { "X-Steward-Session": secret } });
      return answer.status;
    },
    [`${apiBase}${path}`, method] as const,
  );
