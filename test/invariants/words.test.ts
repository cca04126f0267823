import { describe, expect, it } from "vitest";
import { filesBelow, read } from "./project.ts";

interface Word {
  readonly word: RegExp;
  readonly write: string;
  /** Text that may have it, in these files, with the reason. */
  readonly except?: readonly { readonly text: RegExp; readonly reason: string; readonly in?: RegExp }[];
}

/** Words that docs/glossary.md replaces, as they stand in names, messages, comments and documents. */
const words: readonly Word[] = [
  {
    word: /folder/i,
    write: "directory",
    except: [
      {
        text: /"folder"/g,
        reason: "A value of the API, of manifests of snapshots, and of what the digest of a plugin covers.",
      },
      { text: /"folder\\t|`folder PATH MODE`/g, reason: "The corpus of a fuzzer has it." },
      {
        text: /\bname: [\w"-]+, folder: |`folder`|\btarget\.folder\b/g,
        reason: "A key of the settings of backup_age.",
      },
      { text: /kind: "folder".*/g, reason: "Settings of backup_age." },
      { text: /\bfolder\b/g, in: /^src\/config\/(checks|settings)/, reason: "A key of the settings of backup_age." },
      {
        text: /\bfolder\b/g,
        in: /^src\/domain\/health\/checks\/backup-age/,
        reason: "A key of the settings of backup_age.",
      },
      {
        text: /\bfolder: directory\b|\bhash, folder: /g,
        reason: "A member of the log line of audit checkpoints, which earlier versions wrote.",
      },
      { text: /tmp\.folder1234/g, reason: "A name of ten characters, as mktemp makes them." },
    ],
  },
  {
    word: /\b(un)?told\b|told_|toldAges|isTold|Told\b/,
    write: "notified (people), reported, asked to, given",
    except: [
      { text: /\buntold INTEGER|\btold TEXT|"(un)?told"|\w*_?told_\w*/g, reason: "Columns of the store of alerts." },
    ],
  },
  { word: /\btells\b|\bTells\b|\btelling\b|\btell[A-Z]\w*/, write: "says, reports, distinguishes" },
  {
    word: /\b[tT]ell\b/,
    write: "say, report, notify, distinguish",
    except: [
      {
        text: /\b(cannot|can|could not|not|to|would) tell\b/g,
        reason: "To find out, or to know for certain: `cannot tell which`.",
      },
    ],
  },
  {
    word: /\b(not|never|has|is|on)?[bB]egun\b|\bBegunCall/,
    write: "started",
    except: [
      { text: /\bnot_begun\b/g, reason: "`details.reason` of the API." },
      { text: /"begun"|`begun`/g, reason: "The phase in the records of the privileged side." },
      { text: /\baudit-begun\b/g, reason: "A directory of the state." },
    ],
  },
  { word: /\banew\b/, write: "again; rebuilt, restarted, reset" },
  { word: /\b[wW]hoever\b/, write: "anyone who, no matter who" },
  { word: /\b[mM]oments?\b|[a-z]Moments?\b|\bmoments?[A-Z]/, write: "timestamp, time" },
  { word: /\b[lL]ooked at\b/, write: "inspected, checked" },
  { word: /\bset_aside\b|\bset aside\b|SetAside\b/, write: "moved aside (say where)" },
  { word: /\b[mM]end(s|ed|ing)?\b/, write: "fix, repair" },
  { word: /\b[lL]ately\b/, write: "recently" },
  { word: /\b(has|nothing have) to be\b/, write: "must be" },
  { word: /\b(goes|go|went|gone) on\b/, write: "continue" },
  { word: /\bcomes? to (its|their) ends?\b|comesToItsEnd/, write: "ends, runs to completion" },
  {
    word: /\b[bB]eginnings?\b/,
    write: "start, prefix",
    except: [{ text: /"beginning\.json"/g, reason: "A file of a rollback that an earlier version may have begun." }],
  },
  { word: /\bsigns? of life\b|signOfLife/i, write: "heartbeat, watchdog ping" },
  { word: /\bnot well\b(?! enough)|\b0:? all well\b/, write: "unhealthy; all healthy" },
  { word: /\blets? in\b|\bletIn\b/, write: "admit" },
  { word: /\b[Ff]or want of\b/, write: "because … is missing" },
  {
    word: /\b(takeName|meetServiceManager|tellLeft|waitedFor|comesToItsEnd|youngCheckIds)\b|[a-z]News\b|\bisNews\b/,
    write: "a name for what it does (a verb and its object); Event",
  },
  {
    word: /(?<![Tt]here )(?<!where )(?<!what )\b([Ii]s|was) no (?!longer\b|more\b|less\b|doubt\b|need\b|way\b|such\b|other\b|better\b|one\b|matter\b|use\b|[a-z]+er than\b)[A-Za-z]/,
    write: "is not a …, expected …",
  },
  {
    word: /(?<![\w/#!@.\-"'])[rR]oom\b(?![:\w-]|\.[\w*])/,
    write: "space",
    except: [
      {
        text: /\broom\b/g,
        in: /notif|messengers|services\.test|docs\/alerts|settings/,
        reason: "Matrix has rooms.",
      },
      {
        text: /Id of a room that the user has joined|alias of a room|into the room|chat room/g,
        reason: "Matrix has rooms.",
      },
      {
        text: /dust, the room|of the room|room or its air|room temperature/g,
        reason: "The room that the host stands in.",
      },
    ],
  },
];

/** Names of files that say nothing, or one of the words. */
const fileName = /folder|(^|\/)(words|asked|turns|room|news|begun)(\.test)?\.tsx?$/;

const reference = new Set(["docs/reference/openapi.json", "docs/reference/asyncapi.json"]);

const isText = (path: string): boolean => /\.(tsx?|md|ya?ml|service|socket|css|html|sh|py)$/.test(path);

/** Recorded inputs, decisions of the past, and this list. */
const isLeftOut = (path: string): boolean =>
  /^docs\/(adr|reference\/released)\/|^docs\/glossary\.md$|\.generated\.ts$/.test(path);

const production = ["src", "web/src", "scripts", "deploy", "runbooks", "docs", "examples", "demo", "bench"];
const paths = [
  ...production.flatMap(filesBelow).filter((path) => isText(path) && !isLeftOut(path)),
  ...reference,
  "README.md",
];

function foundIn({ word, write, except = [] }: Word, path: string, content: string): readonly string[] {
  const excepted = except.filter(({ in: where }) => where?.test(path) ?? true);
  return content.split("\n").flatMap((line, index) => {
    const rest = excepted.reduce((left, { text }) => left.replaceAll(text, ""), line);
    const match = word.exec(rest);
    return match === null ? [] : [`${path}:${index + 1}: "${match[0]}": write ${write}`];
  });
}

describe("the words of docs/glossary.md", () => {
  it.each(words.map((each) => ({ name: String(each.word), each })))("replace $name", ({ each }) => {
    expect(paths.flatMap((path) => foundIn(each, path, read(path)))).toEqual([]);
  });

  it("are those of file names", () => {
    const named = [...production, "test"].flatMap(filesBelow).filter((path) => fileName.test(path));
    const others = /^(docs\/adr|test\/(field|fuzz\/corpus))\/|^test\/invariants\/words\.test\.ts$/;
    expect(named.filter((path) => !others.test(path))).toEqual([]);
  });

  it("are found with file and line, unless they are an exception there", () => {
    const content = 'const folder = 1;\ntype: "folder"\n';
    expect(words.flatMap((each) => foundIn(each, "src/a.ts", content))).toEqual([
      'src/a.ts:1: "folder": write directory',
    ]);
    expect(words.flatMap((each) => foundIn(each, "src/config/settings.ts", content))).toEqual([]);
  });
});
