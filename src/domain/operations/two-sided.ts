import type { Claim, OperationStore, StoredOperation } from "#domain/ports/operations.ts";
import { isFinished, queuedState, stateOf } from "./state.ts";

/*
 * Where the service has no rights, an operation has two records: the service's, in which it is asked for, and root's, in which
 * it is done. Each side writes its own and reads the other's. A claim is taken on one's own side first and then looked for on the
 * other: of two that take the same number at least one sees the other and gives way, so that never both have it; where both
 * give way, the next number decides.
 *
 * The service writes no state but the end of what nobody works on, and only with the newest claim, so that an end of its own is
 * true and final. Root believes of the service's record that something is asked for, and that it is not asked for any more.
 */

type Read = Pick<OperationStore, "read">;

const numberOf = (operation: Pick<StoredOperation, "claim"> | undefined): number => operation?.claim?.number ?? 0;

const newer = (mine: Claim | undefined, theirs: Claim | undefined): Claim | undefined =>
  (theirs?.number ?? 0) > (mine?.number ?? 0) ? theirs : mine;

const hasEnded = (operation: StoredOperation): boolean => isFinished(stateOf(operation).status);

/** The operations of a service without rights: what it asked for is its own record, what became of it is root's. */
export function serviceSide(own: OperationStore, root: Pick<OperationStore, "read" | "tail">): OperationStore {
  return {
    ...own,
    read(id) {
      const mine = own.read(id);
      // Root's is read last: it is the one that goes on meanwhile.
      const theirs = root.read(id);
      if (mine === undefined || theirs === undefined) return mine;
      const claim = newer(theirs.claim, mine.claim);
      return { spec: mine.spec, state: hasEnded(mine) ? mine.state : theirs.state, claim };
    },
    claim: (id, number, process) => own.claim(id, number, process) && numberOf(root.read(id)) < number,
    tail: root.tail,
  };
}

/**
 * The operations as root does them. What is asked for is taken over, once, into a record of root's own, and from then on nothing
 * but that is done, whatever becomes of the other. A claim or an end on the other side only makes root leave it alone.
 * @param asked what the other side asks for, checked: nothing else is given.
 */
export function rootSide(own: OperationStore, asked: Read): OperationStore {
  return {
    ...own,
    read(id) {
      const theirs = asked.read(id);
      const mine = own.read(id);
      if (mine === undefined) {
        if (theirs === undefined) return undefined;
        const { spec, claim } = theirs;
        return { spec, state: hasEnded(theirs) ? { ...queuedState, status: "failed" } : queuedState, claim };
      }
      if (theirs === undefined) return mine;
      const isOver = hasEnded(theirs) && !hasEnded(mine);
      const state = isOver ? { ...(mine.state ?? queuedState), status: "failed" as const } : mine.state;
      return { spec: mine.spec, state, claim: newer(mine.claim, theirs.claim) };
    },
    claim(id, number, process) {
      if (own.read(id) === undefined) {
        const spec = asked.read(id)?.spec;
        if (spec === undefined) return false;
        own.create(spec);
      }
      return own.claim(id, number, process) && numberOf(asked.read(id)) < number;
    },
  };
}
