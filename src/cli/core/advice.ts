import { withLocalTimes } from "../output/text.ts";

/** What the service advises callers of its interface to send, and what does it on the command line. */
const spellings: readonly (readonly [RegExp, string])[] = [
  [/\bconfirm: true\b/g, "--confirm"],
  [/\ballow_downgrade\b/g, "--allow-downgrade"],
  [/\bX-Window-Override\b/g, "--override-window"],
  [/\bask again with \?dry_run=true, and send the token of that plan\b/g, "run it again"],
  [/\bGET \/updates\/check\b/g, "steward updates"],
  [/\bGET \/auth\/passkeys\b/g, "steward passkeys"],
  [/\bPOST \/auth\/keys\b/g, "steward keys create"],
];

/** A message of the service in the words of the command line, with local times. */
export const inOwnWords = (message: string): string =>
  withLocalTimes(spellings.reduce((text, [theirs, own]) => text.replaceAll(theirs, own), message));
