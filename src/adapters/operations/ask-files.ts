/** Where a service without rights puts what it asks of root, and root what it answers. One folder is not the other's. */
export interface AskPlaces {
  readonly runDir: string;
  /** Root's, which the group of the service may read. */
  readonly answersDir: string;
}

export const asksName = "asks";
export const askName = (id: string): string => `${id}.json`;
export const cancelName = (id: string): string => `${id}.cancel`;
export const answerName = (id: string): string => `${id}.json`;
/** What the host lacks for an operation that root could not even write down. */
export const failureName = (id: string): string => `failure-${id}.json`;

const shape = /^ask-[0-9a-f]{32}$/;
export const isAskId = (text: string): boolean => shape.test(text);

/** More than anything that is asked, or answered, takes. */
export const maxAskBytes = 4 * 1024 * 1024;
export const maxAnswerBytes = 32 * 1024 * 1024;

/** The unit that does what is asked; the policy of the package lets the service start it, and not more. */
export const taskUnit = (id: string): string => `steward-task@${id}.service`;
