import type { Claim, OperationStore, StoredOperation } from "#domain/ports/operations.ts";
import { isFinished, queuedState, stateOf } from "./state.ts";

/*
 * Without rights, an operation has two records: the service's, in which it is requested, and root's, in which it is run. Each side
 * writes its own and reads the other's. A claim is written on one's own side first, then checked on the other: of two with the same
 * number at least one sees the other and gives way, so never both have it; where both do, the next number decides.
 *
 * The service writes only the end of operations without a task, with the newest claim, so that its end is true and final. Root takes
 * from the service's record only that something is requested, or is not any more.
 */

type Asked = Pick<OperationStore, "read" | "isCancelRequested">;

const claimNumber = (operation: Pick<StoredOperation, "claim"> | undefined): number => operation?.claim?.number ?? 0;

const newer = (mine: Claim | undefined, theirs: Claim | undefined): Claim | undefined =>
  (theirs?.number ?? 0) > (mine?.number ?? 0) ? theirs : mine;

const hasEnded = (operation: StoredOperation): boolean => isFinished(stateOf(operation).status);

/** The operations of a service without rights: requested in its own record, run in root's. */
export function serviceSide(own: OperationStore, root: Pick<OperationStore, "read" | "tail">): OperationStore {
  return {
    ...own,
    read(id) {
      const mine = own.read(id);
      // Root's last: it changes meanwhile.
      const theirs = root.read(id);
      if (mine === undefined || theirs === undefined) return mine;
      const claim = newer(theirs.claim, mine.claim);
      return { spec: mine.spec, state: hasEnded(mine) ? mine.state : theirs.state, claim };
    },
    claim: (id, number, process) => own.claim(id, number, process) && claimNumber(root.read(id)) < number,
    tail: root.tail,
  };
}

/**
 * Root's operations. A request is copied once into root's own record, and only that is run, whatever happens to the other. A claim or
 * an end on the other side only makes root leave it alone. @param asked validated requests of the other side.
 */
export function rootSide(own: OperationStore, asked: Asked): OperationStore {
  return {
    ...own,
    isCancelRequested: asked.isCancelRequested,
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
      return own.claim(id, number, process) && claimNumber(asked.read(id)) < number;
    },
  };
}
