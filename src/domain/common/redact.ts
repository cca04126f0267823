import { mark, type Span, spanOf, withoutKeys } from "./private-keys.ts";

type Finder = (line: string) => readonly Span[];

/** Terminal colours, also escaped: they could separate a name from its value. */
const colour = /(?:\p{Cc}|\\u001b|\\x1b|\\e|\\033|#033)\[[0-9;]{0,16}m/giu;
/** The start of a word: not after a letter or digit, unless that is an escaped line break. */
const begin = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))`;

/** Secrets with a recognizable shape. Unlimited repetition comes last in each, to avoid backtracking. */
const shapes: readonly RegExp[] = [
  // This service, language models.
  /st[wt]_[0-9A-Za-z]{8}_[0-9A-Za-z]{20,}/g,
  /sk-(?:ant|or|proj|svcacct|admin)-[A-Za-z0-9_-]{16,}/g,
  new RegExp(`${begin}(?:hf|gsk|r8|nvapi|fw|tgp_v1|csk)[_-][A-Za-z0-9_-]{20,}`, "g"),
  new RegExp(`${begin}(?:xai|pplx)-[A-Za-z0-9]{20,}`, "g"),
  // Google, Amazon, other clouds.
  /AIza[A-Za-z0-9_-]{30,}/g,
  new RegExp(`${begin}(?:ya29\\.|GOCSPX-|AQ\\.Ab)[A-Za-z0-9_.-]{20,}`, "g"),
  /(?<![A-Z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])/g,
  /do[opr]_v1_[0-9a-f]{32,}/g,
  new RegExp(`${begin}dapi[0-9a-f]{32,}`, "g"),
  // Code and packages.
  /gh[opsur]_[A-Za-z0-9]{30,}/g,
  /github_pat_[A-Za-z0-9_]{30,}/g,
  new RegExp(`${begin}gl(?:pat|rt|dt|cbt|ptt|ft|oas|soat|imt|agent)-[A-Za-z0-9_.-]{16,}`, "g"),
  new RegExp(`${begin}(?:npm_|pypi-|dckr_[a-z]{2,4}_)[A-Za-z0-9_-]{20,}`, "g"),
  // Messages, payments, tools.
  /xox[a-z]-[A-Za-z0-9-]{10,}/g,
  /xapp-\d-[A-Za-z0-9-]{10,}/g,
  /(?<=hooks\.slack\.com\/[a-z]{1,16}\/)[A-Za-z0-9/_-]{10,}/g,
  /(?<=discord(?:app)?\.com\/api\/webhooks\/)[A-Za-z0-9/_-]{10,}/g,
  /(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}/g,
  /[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g,
  new RegExp(`${begin}(?:whsec_|SG\\.|sntrys_|shp(?:at|ca|pa|ss)_)[A-Za-z0-9_.+/=-]{24,}`, "g"),
  new RegExp(`${begin}(?:hv[sbr]\\.|gls?[ac]_|tskey-|lin_api_|ATATT3)[A-Za-z0-9_=.-]{20,}`, "g"),
  /AGE-SECRET-KEY-1[A-Z0-9]{40,}/g,
  // JSON in base64, of which tokens are made (RFC 7519).
  /eyJ[A-Za-z0-9_.+/=-]{16,}/g,
  // Hashes of passwords (crypt(5)).
  /\$(?:apr1|1|2[abxy]|5|6|7|y|gy|argon2(?:id|i|d))\$[A-Za-z0-9./$=,+-]{20,}/g,
];

const findShapes: Finder = (line) => shapes.flatMap((shape) => [...line.matchAll(shape)].map(spanOf));

const openAiKey = new RegExp(`${begin}sk-[A-Za-z0-9_-]{20,}`, "g");

/** Host names too begin with `sk-`: a key has a digit and a capital letter, or twenty letters and digits in a row. */
const findOpenAiKeys: Finder = (line) =>
  [...line.matchAll(openAiKey)]
    .filter(([text]) => /[0-9]/.test(text) && (/[A-Z]/.test(text) || /[A-Za-z0-9]{20}/.test(text)))
    .map(spanOf);

const awsSecret = /(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])/g;

/** The secret of an Amazon key has no recognizable shape, but its id has: next to one, any candidate counts. */
const findAwsSecrets: Finder = (line) =>
  /A[KS]IA[A-Z0-9]{16}/.test(line)
    ? [...line.matchAll(awsSecret)].filter(([text]) => /[A-Z]/.test(text) && /[a-z]/.test(text)).map(spanOf)
    : [];

/** Needs the flag `d`. */
const groupSpan = ({ indices }: RegExpMatchArray, group: number): Span => {
  const [start, end] = indices?.[group] ?? [0, 0];
  return { start, end };
};

const bearer = new RegExp(`${begin}bearer[\\s:=]{1,8}["']?([A-Za-z0-9._~+/=-]{6,})`, "dgi");
/** Words that follow `Bearer` in sentences and challenges (RFC 6750 §3). */
const aboutBearers =
  /^(?:tokens?|auth|authentication|authorization|scheme|header|credentials?|realm=?|error=?|scope=?|required|missing|invalid|expired|rejected|service|certificate)[.]?$/i;

const findBearers: Finder = (line) =>
  [...line.matchAll(bearer)].filter(([, token = ""]) => !aboutBearers.test(token)).map((match) => groupSpan(match, 1));

const basic = new RegExp(`${begin}basic[\\s:]{1,8}["']?([A-Za-z0-9+/_-]{6,}={0,2})`, "dgi");

/** Whether a text is `user:password` in base64 (RFC 7617). */
function isUserAndPassword(text: string): boolean {
  try {
    const decoded = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return decoded.includes(":") && !/\p{Cc}/u.test(decoded);
  } catch {
    return false;
  }
}

const findBasic: Finder = (line) =>
  [...line.matchAll(basic)].filter(([, text = ""]) => isUserAndPassword(text)).map((match) => groupSpan(match, 1));

/** The quote that ends the text from `start`, else the end of the line. */
function closingQuote(line: string, start: number, quote: string, backslashes: number): number {
  let run = 0;
  for (let at = start; at < line.length; at += 1) {
    const character = line.charAt(at);
    // In nested text a quote with fewer backslashes belongs to the outer text.
    if (character === quote && (backslashes === 0 ? run % 2 === 0 : run <= backslashes))
      return backslashes === 0 ? at : at - run;
    run = character === "\\" ? run + 1 : 0;
  }
  return line.length;
}

const opening = /(\\{0,7})(["'`])/y;

function quotedAt(line: string, at: number): Span | undefined {
  opening.lastIndex = at;
  const match = opening.exec(line);
  if (match === null) return undefined;
  const [all, backslashes = "", quote = ""] = match;
  const start = at + all.length;
  return { start, end: closingQuote(line, start, quote, backslashes.length) };
}

/** The end of a word without quotes: a comma, semicolon or ampersand only before another name and value. */
const nextPair =
  /%26|[,;&][ \t]{0,4}["']?[A-Za-z_][A-Za-z0-9_.-]{0,40}["']?[=:]|\\{0,3}["'`](?=[\s,;)}\]]|$)|[)}\]>,;]{1,8}$/;

/** The last run without spaces: a long one is scanned once, not for each name in it. */
const noRun = { line: "", start: 0, end: 0 };
let lastRun = noRun;

function runEnd(line: string, at: number): number {
  if (at < lastRun.start || at > lastRun.end || line !== lastRun.line) {
    const space = /\s/g;
    space.lastIndex = at;
    lastRun = { line, start: at, end: space.exec(line)?.index ?? line.length };
  }
  return lastRun.end;
}

function wordAt(line: string, at: number): Span {
  const end = runEnd(line, at);
  const cut = nextPair.exec(line.slice(at, end))?.index ?? -1;
  return { start: at, end: cut > 0 ? at + cut : end };
}

/** The rest of the line, or of the quotes around a position. */
function restAt(line: string, at: number, from: number): Span {
  const before = line.slice(Math.max(0, from - 200), from);
  const isOpen = (quote: string): boolean => before.split(quote).length % 2 === 0;
  const quote = ['"', "'", "`"].filter(isOpen).sort((a, b) => before.lastIndexOf(b) - before.lastIndexOf(a))[0];
  return { start: at, end: quote === undefined ? line.length : closingQuote(line, at, quote, 0) };
}

const header = new RegExp(
  `${begin}((?:proxy-)?authorization|(?:set-)?cookie2?)[\\\\"'\`]{0,6}\\s{0,4}([:=])\\s{0,4}`,
  "gi",
);
const scheme = /(?:bearer|basic|token|api-?key|key)\s{1,4}/iy;
const otherScheme = /(?:digest|negotiate|ntlm|hawk|oauth|aws4-[a-z0-9-]{1,24}|signature|splunk|dpop|vapid|mac)\s/iy;

/** The value of `Authorization`; undefined when a sentence follows. */
function authorizationAt(line: string, at: number, from: number): Span | undefined {
  scheme.lastIndex = at;
  otherScheme.lastIndex = at;
  const known = scheme.exec(line)?.[0];
  if (known !== undefined) return wordAt(line, at + known.length);
  const word = wordAt(line, at);
  const text = line.slice(word.start, word.end);
  const isToken = text.length >= 20 || /[0-9]|[a-z][A-Z]/.test(text);
  return isToken || otherScheme.test(line) ? restAt(line, at, from) : undefined;
}

function headerValue(line: string, match: RegExpExecArray): Span | undefined {
  const [all, name = "", separator] = match;
  const at = match.index + all.length;
  const quoted = quotedAt(line, at);
  if (quoted !== undefined) return quoted;
  if (!/cookie/i.test(name)) return authorizationAt(line, at, match.index);
  return separator === "=" ? wordAt(line, at) : restAt(line, at, match.index);
}

const findHeaders: Finder = (line) => {
  const spans: Span[] = [];
  let done = 0;
  for (const match of line.matchAll(header)) {
    if (match.index < done) continue;
    const span = headerValue(line, match);
    if (span === undefined) continue;
    done = span.end;
    spans.push(span);
  }
  return spans;
};

/** Names of secrets, also as part of a longer name. */
const names =
  /(pass(?:word|wd|phrase|code)|pwd|pass(?![a-z])|secret|token|(?:api|access|private|secret|encryption|signing|master|pre-?shared|shared|account|auth|session|storage|webhook|license)[_-]?key|credential|sess(?:ion)?_?id|connect\.sid|connection[_-]?string|(?:bind|root|user)pw|(?<![a-z])p(?:sk|w)(?![a-z])|(?<=(?:^|[\s"'/;])_)auth)/gi;
/** The rest of the word after the name; closing quotes and brackets; the separator of the value. */
const rest = /([A-Za-z0-9_.-]{0,32})([\\"'`\]]{0,6})(?:\s(?:is|was))?(\s{0,8})(=>|:=|=|:(?!\/\/)|%3[ad])(\s{0,8})/iy;
const option = /[A-Za-z0-9_.=-]{0,32}(?:\s{1,4}|["']\s{0,2},\s{0,2}(?=["']))(?!-)(?=\S)/y;
const quotedAfter = /\s{1,4}(?=['"])/y;

/** Endings of names that belong to a secret, but are not secret. */
const harmlessEnd =
  /(?:file|path|dir|directory|name|types?|expir[a-z_]*|ttl|length|len|count|lifetime|policy|ur[il]|endpoint|age|version|format|status|hint|prompt|store|days|min|max|stdin|fd|command|authentication|limit|usage|algorithm|agent|retries|attempts|enabled|required|env|\.(?:service|socket|timer|path|target|mount|slice|scope|json|ya?ml|conf|cfg|ini|txt|log|sh|py|js|rb|go|php))$/i;
const harmlessValue =
  /^(?:\[redacted\]?|\*{3,}|x{3,}|null|none|nil|true|false|undefined|yes|no|\$\{[A-Z_][A-Z0-9_]*\}|\$[A-Z_]{3}[A-Z0-9_]*|[{[(|>]-?|(?:\[\]|\{\})[)}\]]{0,8})$/i;

/** Whether the rest of the word keeps the name secret: `SECRET_KEY_BASE`, not `secretary`. */
const endsWord = (suffix: string): boolean =>
  (suffix === "" || /^(?:s$|[0-9]|[_.-]|[A-Z])/.test(suffix)) && !harmlessEnd.test(suffix);

const isEmpty = ({ start, end }: Span): boolean => start >= end;
const lineStart = /^[\s>]{0,64}(?:-\s{1,4})?(?:export\s)?["']?[A-Za-z0-9_.-]{0,40}$/;

interface Name {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The value after a separator: quoted, the rest of a line of settings, or a word. */
function valueAfter(line: string, { text, start }: Name, at: number, separator: string, spaces: string): Span {
  const quoted = quotedAt(line, at);
  if (quoted !== undefined) return quoted;
  const isAlone = start <= 108 && lineStart.test(line.slice(0, start));
  const isSpaced = separator !== "=" || spaces !== "";
  const isWhole = /phrase/i.test(text) || (isAlone && isSpaced);
  return isWhole ? { start: at, end: line.length } : wordAt(line, at);
}

/** Whether a sentence follows a name and a colon: `cannot get a token: Permission denied`. */
function isProse(line: string, name: Name, separator: string, { start, end }: Span): boolean {
  if (separator !== ":" || /pass|pwd/i.test(name.text)) return false;
  return /^[A-Z][a-z]+$/.test(line.slice(start, end)) && /^ [a-z]/.test(line.slice(end, end + 2));
}

function assignedTo(line: string, name: Name): Span | undefined {
  rest.lastIndex = name.end;
  const match = rest.exec(line);
  if (match === null) return undefined;
  const [all, suffix = "", quotes = "", before = "", separator = "", after = ""] = match;
  const at = name.end + all.length;
  // Models count tokens.
  if (/^tokens$/i.test(name.text + suffix)) return undefined;
  if (!endsWord(suffix) || (/^pwd$/i.test(name.text) && line.charAt(at) === "/")) return undefined;
  // `pass: 3` is a count, `credentials: …` a sentence.
  if (/^(?:pass|credential)$/i.test(name.text) && separator === ":" && quotes === "") return undefined;
  const span = valueAfter(line, name, at, separator, before + after);
  return isProse(line, name, separator, span) ? undefined : span;
}

/** `--password x`, also as a list of words. */
function givenTo(line: string, name: Name): Span | undefined {
  const word = /[A-Za-z0-9_-]{0,32}$/.exec(line.slice(Math.max(0, name.start - 32), name.start))?.[0] ?? "";
  if (!word.startsWith("-")) {
    quotedAfter.lastIndex = name.end;
    const spaces = /^pass(?:word|wd)$/i.test(name.text) ? quotedAfter.exec(line) : null;
    return spaces === null ? undefined : quotedAt(line, name.end + spaces[0].length);
  }
  option.lastIndex = name.end;
  const match = option.exec(line);
  if (match === null) return undefined;
  const suffix = /^[A-Za-z0-9_.=-]*/.exec(match[0])?.[0] ?? "";
  const at = name.end + match[0].length;
  return endsWord(suffix) ? (quotedAt(line, at) ?? wordAt(line, at)) : undefined;
}

const findNamed: Finder = (line) => {
  const spans: Span[] = [];
  let done = 0;
  for (const match of line.matchAll(names)) {
    if (match.index < done) continue;
    const name: Name = { text: match[0], start: match.index, end: match.index + match[0].length };
    const span = assignedTo(line, name) ?? givenTo(line, name);
    if (span === undefined || isEmpty(span)) continue;
    done = span.end;
    spans.push(span);
  }
  return spans;
};

const pairs: readonly RegExp[] = [
  /[?&;](?:sig|signature|key|x-amz-signature|x-amz-security-token|x-goog-signature)=([^\s&"'<>]{4,})/dgi,
  /\slogin\s{1,4}\S{1,100}\s{1,4}password\s{1,4}(\S{1,200})/dgi,
  /\bidentified\s{1,4}by\s{1,4}["']([^"']{1,200})/dgi,
  /\s(?:--user|--proxy-user|-u|-U)[\s=]{1,4}["']?[^\s:"']{1,100}:([^\s"']{1,200})/dg,
  /<[^<>\s]{0,40}(?:password|passwd|secret|token|api_?key)[^<>\s]{0,20}>([^<]{1,400})</dgi,
  /["']auth["']\s{0,4}:\s{0,4}["']([^"']{6,400})["']/dg,
  /\bauth\s(?:plain|login)\s([A-Za-z0-9+/=]{6,})/dgi,
  /\bjdbc:oracle:thin:[^\s/@]{1,100}\/([^\s@]{1,200})@/dg,
];

const findPairs: Finder = (line) =>
  pairs.flatMap((pair) => [...line.matchAll(pair)].map((match) => groupSpan(match, 1)));

/** The password between `://` and the last `@`. It may contain an unescaped slash; a number there is a port. */
function urlPassword(line: string, at: number): Span | undefined {
  const stop = /[\s"'<>`]|:\/\//g;
  stop.lastIndex = at;
  const word = line.slice(at, stop.exec(line)?.index ?? line.length);
  const host = /[/?#]/.exec(word)?.index ?? word.length;
  const within = word.lastIndexOf("@", host);
  if (within < 0 && word.startsWith("[")) return undefined;
  const colon = word.indexOf(":");
  if (within < 0 && (colon < 0 || colon > host || /^[0-9]{1,5}$/.test(word.slice(colon + 1, host)))) return undefined;
  const end = within < 0 ? word.lastIndexOf("@") : within;
  if (end <= 0) return undefined;
  if (colon >= 0 && colon < end) return { start: at + colon + 1, end: at + end };
  // A token in place of the user.
  return end >= 16 && /[0-9]/.test(word.slice(0, end)) ? { start: at, end: at + end } : undefined;
}

const findUrls: Finder = (line) =>
  [...line.matchAll(/:\/\//g)].flatMap(({ index }) => urlPassword(line, index + 3) ?? []);

/** `user:password@tcp(host:port)/name`. */
const findSources: Finder = (line) =>
  [...line.matchAll(/@(?:tcp|unix)\(/g)].flatMap(({ index }) => {
    const word = /[^\s"'=]{1,200}$/.exec(line.slice(Math.max(0, index - 200), index))?.[0] ?? "";
    const colon = word.indexOf(":");
    return colon < 0 ? [] : [{ start: index - word.length + colon + 1, end: index }];
  });

/** Finders that need no context, but a long secret. */
const byShape: readonly Finder[] = [findShapes, findOpenAiKeys, findAwsSecrets];
const byContext: readonly Finder[] = [findBearers, findBasic, findHeaders, findNamed, findPairs, findUrls, findSources];
const shortestShape = 15;
/** Separators between a secret and its context. */
const between = /[\s=:"'%<]/;

/** Saves work on the many short lines of a text. */
function findersFor(line: string): readonly Finder[] {
  return [...(line.length < shortestShape ? [] : byShape), ...(between.test(line) ? byContext : [])];
}

function merged(spans: readonly Span[]): readonly Span[] {
  const joined: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const last = joined.at(-1);
    if (last === undefined || span.start > last.end) joined.push(span);
    else if (span.end > last.end) joined[joined.length - 1] = { start: last.start, end: span.end };
  }
  return joined;
}

function redactLine(line: string): { readonly line: string; readonly count: number } {
  if (line === "") return { line, count: 0 };
  const isSecret = (span: Span): boolean => !isEmpty(span) && !harmlessValue.test(line.slice(span.start, span.end));
  const spans = merged(
    findersFor(line)
      .flatMap((find) => find(line))
      .filter(isSecret),
  );
  let redacted = "";
  let at = 0;
  for (const { start, end } of spans) {
    redacted += line.slice(at, start) + mark;
    at = end;
  }
  return { line: redacted + line.slice(at), count: spans.length };
}

/** A name at the end of a line with its value on the next ones, indented, as in YAML. */
const beginsBlock =
  /^(\s{0,64})(?:-\s{1,4})?["']?[A-Za-z0-9_.-]{0,64}["']?\s{0,4}:\s{0,4}(?:[|>][-+0-9]{0,2})?\s{0,4}$/;
const indentOf = (line: string): number => /^ */.exec(line)?.[0].length ?? 0;

function isSecretName(line: string): boolean {
  return [...line.slice(0, 160).matchAll(names)].some(({ index, 0: text }) => {
    const suffix = /^[A-Za-z0-9_.-]{0,64}/.exec(line.slice(index + text.length))?.[0] ?? "";
    return endsWord(suffix);
  });
}

function withoutBlocks(given: readonly string[]): { readonly lines: readonly string[]; readonly count: number } {
  let indent: number | undefined;
  let count = 0;
  const lines = given.map((line) => {
    if (indent !== undefined && line.trim() !== "" && indentOf(line) > indent) {
      if (line.trim() === mark) return line;
      count += 1;
      return `${line.slice(0, indentOf(line))}${mark}`;
    }
    if (line.trim() !== "")
      indent =
        beginsBlock.test(line.slice(0, 200)) && line.length <= 200 && isSecretName(line) ? indentOf(line) : undefined;
    return line;
  });
  return { lines, count };
}

/**
 * Removes secrets from lines that belong together: API keys, tokens, passwords, cookies, private keys, also over several lines.
 * Returns as many lines as given. Addresses and host names remain. Linear in the length of the text.
 */
export function redactLines(given: readonly string[]): { readonly lines: readonly string[]; readonly count: number } {
  const plain = given.map((line) => line.replaceAll(colour, ""));
  const keys = withoutKeys(plain);
  const blocks = withoutBlocks(keys.lines);
  let count = keys.count + blocks.count;
  const lines = blocks.lines.map((line) => {
    const redacted = redactLine(line);
    count += redacted.count;
    return redacted.line;
  });
  lastRun = noRun;
  return { lines, count };
}

export function redact(text: string): { readonly text: string; readonly count: number } {
  const { lines, count } = redactLines(text.split("\n"));
  return { text: lines.join("\n"), count };
}
