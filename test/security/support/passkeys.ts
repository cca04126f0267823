import { elevate } from "../../console/support/console.ts";
import type { Page } from "../../process/support/chromium.ts";

/** Gives a page an authenticator, whose user has unlocked it unless said otherwise. */
export async function addAuthenticator(page: Page, isUserVerified = true): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified,
      automaticPresenceSimulation: true,
    },
  });
}

/** Gets administrative access in the session of a page with its key, and registers a passkey, as a person does. */
export async function registerOnPage(page: Page, key: string, name: string): Promise<void> {
  await elevate(page, key);
  await page.getByText("may change something until").first().waitFor();
  await page.getByLabel("Name of a new passkey").fill(name);
  await page.getByRole("button", { name: "Register a passkey", exact: true }).click();
  await page.getByText(`The passkey ${name} signs you in from now on.`).waitFor();
}

/** Signs out, and in again with a passkey. */
export async function signInByPasskey(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Sign out", exact: true }).first().click();
  await page.getByText("Signed out.").waitFor();
  await page.getByRole("button", { name: "Sign in with a passkey", exact: true }).click();
}
