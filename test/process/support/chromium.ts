import { hash, X509Certificate } from "node:crypto";
import { type Browser, type BrowserContext, chromium, type LaunchOptions, type Page } from "playwright-core";
import { baseEnvironment } from "./service.ts";
import type { Workspace } from "./workspace.ts";

/** Names that lead to this machine, as those of an attacker do. */
const foreignNames = ["evil.example", "rebound.example"] as const;

/** For Debian's Chromium. Names of {@link foreignNames} lead to 127.0.0.1 in it, and nothing leads out. */
export const chromiumOptions = (workspace: Workspace, more: readonly string[] = []): LaunchOptions => ({
  executablePath: "/usr/bin/chromium",
  // The sandbox needs a user other than root; what is opened here are our own pages.
  args: [
    ...["--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server", ...more],
    `--host-resolver-rules=${foreignNames.map((name) => `MAP ${name} 127.0.0.1`).join(",")},MAP localhost 127.0.0.1`,
  ],
  env: { ...baseEnvironment(workspace) },
});

/**
 * Starts Chromium.
 * @param trusted a certificate that it takes, as PEM: with errors that it ignored it would have no passkeys.
 */
export function launchChromium(workspace: Workspace, trusted?: string): Promise<Browser> {
  const more = trusted === undefined ? [] : [`--ignore-certificate-errors-spki-list=${keyDigest(trusted)}`];
  return chromium.launch(chromiumOptions(workspace, more));
}

/** SHA-256 of the public key of a certificate, as Chromium takes it. */
function keyDigest(pem: string): string {
  const key = new X509Certificate(pem).publicKey.export({ type: "spki", format: "der" });
  return hash("sha256", key, "base64");
}

export type { Browser, BrowserContext, Page };
