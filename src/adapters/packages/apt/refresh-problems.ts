import { failureReason } from "./output.ts";

const remedies: readonly (readonly [words: RegExp, remedy: string])[] = [
  [
    /\bNO_PUBKEY\b|Missing key [0-9A-F]+/,
    "this host does not trust the key that signs the source: compare it with the key that the publisher of the source announces, then add it to the keys of its signed-by",
  ],
  [/\bEXPKEYSIG\b/, "the key that signs the source has expired: install the new key of its publisher"],
  [
    /\bREVKEYSIG\b/,
    "the key that signs the source was revoked: do not use the source until its publisher has a new one",
  ],
  [
    /\b(?:BADSIG|EXPSIG|ERRSIG|NODATA)\b|signatures (?:were invalid|couldn't be verified)|Clearsigned file isn't valid|manipulated/,
    "the data of the source does not match its signature: try again later; if it persists use another mirror and check for a proxy in between",
  ],
  [
    /(?:is not|no longer) signed/,
    "its data cannot be verified: use another mirror, or ask its publisher, before you trust it",
  ],
  [
    /is expired \(invalid since/,
    "the lists of the source have expired: use another mirror, and check the clock of this host",
  ],
  [/is not valid yet/, "the lists are dated in the future: check the clock of this host"],
  [
    /Hash Sum mismatch|unexpected size/,
    "the source is being updated, or its data was changed in transit: try again later; if it persists use another mirror",
  ],
];

const otherwise = "its signature is not valid: use another mirror, or ask its publisher, before you trust it";
const most = 3;
const unspecific = /^Some index files failed to download/;

/** `http://host ./ Release` and `http://host/./InRelease` are of one source. */
const sourceIn = (line: string): string | undefined =>
  /[a-z+]+:\/*[^\s']+/.exec(line)?.[0].replace(/\/(?:\.\/|dists\/.*)?(?:InRelease|Release|Release\.gpg)?$/, "");

export function refreshFailure(text: string, exitCode: number): string {
  const lines = text.split("\n").map((line) => line.trim());
  const signatures = lines.flatMap(
    (line) => /^W: (?:.*\b)?(?:GPG error|OpenPGP signature verification failed): (.*)$/.exec(line)?.[1] ?? [],
  );
  const errors = lines.flatMap((line) => /^E: (.*)$/.exec(line)?.[1] ?? []).filter((line) => !unspecific.test(line));
  const isReported = (line: string): boolean =>
    sourceIn(line) !== undefined && signatures.some((other) => sourceIn(other) === sourceIn(line));
  const problems = [...signatures, ...errors.filter((line) => !isReported(line))];
  if (problems.length === 0) return failureReason(text, exitCode);
  const reported = problems.slice(0, most).map((line) => {
    const [, remedy] = remedies.find(([words]) => words.test(line)) ?? [];
    const advice = remedy ?? (signatures.includes(line) ? otherwise : undefined);
    return advice === undefined ? line : `${line.replace(/\.$/, "")} (${advice})`;
  });
  const more = problems.length - reported.length;
  return [...reported, ...(more > 0 ? [`and ${more} more`] : []), "the old package lists stay in use"].join("; ");
}
