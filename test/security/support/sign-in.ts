import { apiBase } from "#contract/limits.ts";
import { signIn } from "../../console/support/console.ts";
import type { Page } from "../../process/support/chromium.ts";

/** Signs in at the page of sessions with a key, as a person does. */
export async function signInAt(page: Page, origin: string, key: string): Promise<void> {
  await signIn(page, origin, key, "access");
  await signedIn(page);
}

/** The page of sessions is shown. */
export const signedIn = (page: Page): Promise<void> => page.getByRole("heading", { name: "Your session" }).waitFor();

/** Whose session it is, as the page says. */
export const shownKey = (page: Page): Promise<string | null> =>
  page.locator("dt", { hasText: /^Key$/ }).locator("xpath=following-sibling::dd").first().textContent();

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
