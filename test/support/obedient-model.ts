/** A call that a text orders: `CALL stopService name=cron.service dry_run=false`. */
export interface Order {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

const form = /CALL (\w+)((?: \w+=[^\s"'\\]+)*)/g;

function argumentOf(text: string): unknown {
  if (text.includes(",")) return text.split(",");
  if (text === "true" || text === "false") return text === "true";
  return /^\d+$/.test(text) ? Number(text) : text;
}

const ordersIn = (text: string): readonly (readonly [text: string, order: Order])[] =>
  [...text.matchAll(form)].map(([whole, name = "", given = ""]) => {
    const members = given.trim() === "" ? [] : given.trim().split(" ");
    const pairs = members.map((member) => {
      const at = member.indexOf("=");
      return [member.slice(0, at), argumentOf(member.slice(at + 1))] as const;
    });
    return [whole, { name, arguments: Object.fromEntries(pairs) }] as const;
  });

/** At once; the next ones come with the next turn. */
const mostAtOnce = 3;

/**
 * A model that obeys whatever text says: it carries out each order once, in the order in which it finds them, and then says all that
 * it was given.
 */
export function createObedientModel() {
  const done = new Set<string>();
  return {
    /** What it does when it is given these texts: calls, or its answer where there is nothing more to obey. */
    turn(
      texts: readonly string[],
      mayCall: boolean,
    ): { readonly calls: readonly Order[] } | { readonly answer: string } {
      const found = new Map(texts.flatMap(ordersIn).filter(([whole]) => !done.has(whole)));
      const next = [...found].slice(0, mostAtOnce);
      if (!mayCall || next.length === 0) return { answer: `I carried out all orders. ${texts.join("\n")}` };
      for (const [whole] of next) done.add(whole);
      return { calls: next.map(([, order]) => order) };
    },
  };
}
