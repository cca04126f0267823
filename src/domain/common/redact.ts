import { mark, type Span, spanOf, withoutKeys } from "./private-keys.ts";

/** Finds secrets in a line; reads each character a bounded number of times, whatever the line. */
type Finder = (line: string) => readonly Span[];

/** Colours of terminals, as they are and as programs write them out: they would stand between a name and its value. */
const colour = /(?:\p{Cc}|\\u001b|\\x1b|\\e|\\033|#033)\[[0-9;]{0,16}m/giu;
/** Where a word begins: after what is no letter or digit, or after a line break that is written out. */
const begin = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))`;

/**
 * Shapes by which a secret is known wherever it stands. What repeats without a limit comes last in each of them, so that
 * none goes over the same text again and again.
 */
const shapes: readonly RegExp[] = [
  // This service's own, and those of language models.
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
  // Where code and packages are kept.
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

/** `sk-` begins names of hosts too: a key has a digit and a capital letter, or twenty letters and digits in a row. */
const findOpenAiKeys: Finder = (line) =>
  [...line.matchAll(openAiKey)]
    .filter(([text]) => /[0-9]/.test(text) && (/[A-Z]/.test(text) || /[A-Za-z0-9]{20}/.test(text)))
    .map(spanOf);

const awsSecret = /(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])/g;

/** The secret of an Amazon key has no shape of its own, but its id does: what stands beside one and could be it, is it. */
const findAwsSecrets: Finder = (line) =>
  /A[KS]IA[A-Z0-9]{16}/.test(line)
    ? [...line.matchAll(awsSecret)].filter(([text]) => /[A-Z]/.test(text) && /[a-z]/.test(text)).map(spanOf)
    : [];

/** Ends of a match's groups are asked for with the flag `d`. */
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

/** Position of the quote that ends a text which begins at `start`; of the end of the line where none does. */
function closingQuote(line: string, start: number, quote: string, backslashes: number): number {
  let run = 0;
  for (let at = start; at < line.length; at += 1) {
    const character = line.charAt(at);
    // Text in text: a quote with fewer backslashes than it began with belongs to what is around it.
    if (character === quote && (backslashes === 0 ? run % 2 === 0 : run <= backslashes))
      return backslashes === 0 ? at : at - run;
    run = character === "\\" ? run + 1 : 0;
  }
  return line.length;
}

const opening = /(\\{0,7})(["'`])/y;

/** The text in quotes that begins at a position, quotes left out; undefined where none begins. */
function quotedAt(line: string, at: number): Span | undefined {
  opening.lastIndex = at;
  const match = opening.exec(line);
  if (match === null) return undefined;
  const [all, backslashes = "", quote = ""] = match;
  const start = at + all.length;
  return { start, end: closingQuote(line, start, quote, backslashes.length) };
}

/** Where a word without quotes ends. A comma, semicolon or ampersand ends it if another name and value follow. */
const nextPair =
  /%26|[,;&][ \t]{0,4}["']?[A-Za-z_][A-Za-z0-9_.-]{0,40}["']?[=:]|\\{0,3}["'`](?=[\s,;)}\]]|$)|[)}\]>,;]{1,8}$/;

/** The part without spaces that was last looked at: a long one is gone through once, and not for each name in it. */
const noRun = { line: "", start: 0, end: 0 };
let lastRun = noRun;

/** Where the next space is, or the end of the line. */
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

/** The rest of the line, or of the quotes that the line has around a position. */
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

/** The value of `Authorization`; undefined where a sentence follows the word. */
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
    // What is a value is not looked at again.
    done = span.end;
    spans.push(span);
  }
  return spans;
};

/** Names of what is secret, wherever they stand in a longer name. */
const names =
  /(pass(?:word|wd|phrase|code)|pwd|pass(?![a-z])|secret|token|(?:api|access|private|secret|encryption|signing|master|pre-?shared|shared|account|auth|session|storage|webhook|license)[_-]?key|credential|sess(?:ion)?_?id|connect\.sid|connection[_-]?string|(?:bind|root|user)pw|(?<![a-z])p(?:sk|w)(?![a-z])|(?<=(?:^|[\s"'/;])_)auth)/gi;
/** What follows the name in the same word; quotes and brackets that end it; what stands between it and its value. */
const rest = /([A-Za-z0-9_.-]{0,32})([\\"'`\]]{0,6})(?:\s(?:is|was))?(\s{0,8})(=>|:=|[=:](?!\/\/)|%3[ad])(\s{0,8})/iy;
const option = /[A-Za-z0-9_.=-]{0,32}(?:\s{1,4}|["']\s{0,2},\s{0,2}(?=["']))(?!-)(?=\S)/y;
const quotedAfter = /\s{1,4}(?=['"])/y;

/** Names of what belongs to a secret and is none. */
const harmlessEnd =
  /(?:file|path|dir|folder|name|types?|expir[a-z_]*|ttl|length|len|count|lifetime|policy|ur[il]|endpoint|age|version|format|status|hint|prompt|store|days|min|max|stdin|fd|command|authentication|limit|usage|algorithm|agent|retries|attempts|enabled|required|env|\.(?:service|socket|timer|path|target|mount|slice|scope|json|ya?ml|conf|cfg|ini|txt|log|sh|py|js|rb|go|php))$/i;
const harmlessValue =
  /^(?:\[redacted\]?|\*{3,}|x{3,}|null|none|nil|true|false|undefined|yes|no|\$\{[A-Z_][A-Z0-9_]*\}|\$[A-Z_]{3}[A-Z0-9_]*|[{[(|>]-?|(?:\[\]|\{\})[)}\]]{0,8})$/i;

/** Whether what follows a name in the same word leaves it the name of a secret: `SECRET_KEY_BASE`, not `secretary`. */
const endsWord = (suffix: string): boolean =>
  (suffix === "" || /^(?:s$|[0-9]|[_.-]|[A-Z])/.test(suffix)) && !harmlessEnd.test(suffix);

const isEmpty = ({ start, end }: Span): boolean => start >= end;
const lineStart = /^[\s>]{0,64}(?:-\s{1,4})?(?:export\s)?["']?[A-Za-z0-9_.-]{0,40}$/;

interface Name {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The value after a separator: in quotes, up to the end of a line of settings, or a word. */
function valueAfter(line: string, { text, start }: Name, at: number, separator: string, spaces: string): Span {
  const quoted = quotedAt(line, at);
  if (quoted !== undefined) return quoted;
  const isAlone = start <= 108 && lineStart.test(line.slice(0, start));
  const isSpaced = separator !== "=" || spaces !== "";
  const isWhole = /phrase/i.test(text) || (isAlone && isSpaced);
  return isWhole ? { start: at, end: line.length } : wordAt(line, at);
}

/** Whether a word that follows a name and a colon goes on as a sentence: `cannot get a token: Permission denied`. */
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
  // `pass: 3` counts, `credentials: …` goes on as a sentence.
  if (/^(?:pass|credential)$/i.test(name.text) && separator === ":" && quotes === "") return undefined;
  const span = valueAfter(line, name, at, separator, before + after);
  return isProse(line, name, separator, span) ? undefined : span;
}

/** `--password x`, and the same as a list of words. */
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
    // What is a value is not looked at again.
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

/** The password between `://` and the last `@`. One may hold a slash that nobody escaped; a number there is a port. */
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
  // A token in the place of the user.
  return end >= 16 && /[0-9]/.test(word.slice(0, end)) ? { start: at, end: at + end } : undefined;
}

const findUrls: Finder = (line) =>
  [...line.matchAll(/:\/\//g)].flatMap(({ index }) => urlPassword(line, index + 3) ?? []);

/** `user:password@tcp(host:port)/name`, an address without a scheme. */
const findSources: Finder = (line) =>
  [...line.matchAll(/@(?:tcp|unix)\(/g)].flatMap(({ index }) => {
    const word = /[^\s"'=]{1,200}$/.exec(line.slice(Math.max(0, index - 200), index))?.[0] ?? "";
    const colon = word.indexOf(":");
    return colon < 0 ? [] : [{ start: index - word.length + colon + 1, end: index }];
  });

/** Those that know a secret by itself, and need a long one. */
const byShape: readonly Finder[] = [findShapes, findOpenAiKeys, findAwsSecrets];
const byContext: readonly Finder[] = [findBearers, findBasic, findHeaders, findNamed, findPairs, findUrls, findSources];
const shortestShape = 15;
/** What stands between a secret and what tells that it is one. */
const between = /[\s=:"'%<]/;

/** What may find something on a line. A text may have very many lines that are too short for most. */
function findersFor(line: string): readonly Finder[] {
  return [...(line.length < shortestShape ? [] : byShape), ...(between.test(line) ? byContext : [])];
}

/** Spans in order, those that touch made one. */
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

/** A name at the end of a line whose value is on the next ones, further in, as YAML has it. */
const beginsBlock =
  /^(\s{0,64})(?:-\s{1,4})?["']?[A-Za-z0-9_.-]{0,64}["']?\s{0,4}:\s{0,4}(?:[|>][-+0-9]{0,2})?\s{0,4}$/;
const indentOf = (line: string): number => /^ */.exec(line)?.[0].length ?? 0;

function isSecretName(line: string): boolean {
  return [...line.slice(0, 160).matchAll(names)].some(({ index, 0: text }) => {
    const suffix = /^[A-Za-z0-9_.-]{0,64}/.exec(line.slice(index + text.length))?.[0] ?? "";
    return endsWord(suffix);
  });
}

/** Takes out the values that stand further in below the name of a secret. */
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
 * Takes secrets out of lines that belong together, such as those that one program wrote: API keys, tokens, passwords,
 * cookies, private keys, those over several lines too. Gives as many lines as it was given. Addresses and names of hosts stay.
 * The work grows with the length of the text, whatever is in it.
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

/** Takes secrets out of a text, see {@link redactLines}. */
export function redact(text: string): { readonly text: string; readonly count: number } {
  const { lines, count } = redactLines(text.split("\n"));
  return { text: lines.join("\n"), count };
}
