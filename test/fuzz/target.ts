import { Ajv, type ValidateFunction } from "ajv";
import { ownSchemas } from "#contract/schema.ts";
import { parseTimestamp } from "#kernel/clock.ts";
import type { Random } from "../support/random.ts";

/** A target that is loaded and takes inputs. */
export interface OpenTarget {
  /**
   * Gives it one input.
   * @throws whatever is wrong with what it did: a promise that is broken, or what it threw itself.
   */
  readonly run: (input: Buffer) => void | Promise<void>;
  readonly close?: () => void | Promise<void>;
}

/** Something that takes bytes from outside. What it promises about them is in README.md. */
export interface FuzzTarget {
  readonly maxBytes: number;
  /** Edges that one run may go over: more is a loop, or work out of all proportion. */
  readonly maxSteps: number;
  /** Words of its language, besides those that its code mentions. */
  readonly dictionary: () => readonly (string | Buffer)[];
  /** Inputs that it takes, besides the corpus. */
  readonly seeds: () => readonly Buffer[];
  /** A change that leaves the form of an input intact, so that what lies behind its first check is reached. Undefined: none applies. */
  readonly mutate?: (input: Buffer, random: Random) => Buffer | undefined;
  readonly open: () => Promise<OpenTarget>;
}

/**
 * Throws unless a promise holds.
 * @param what is said of it: up to the first colon which promise it is, behind it the case.
 */
export function expectThat(holds: boolean, what: string): asserts holds {
  if (!holds) throw new BrokenPromise(what);
}

/** The target did what it promises not to do. */
export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise";
}

/** Checks a value against a schema of the contract. */
export const createValidator = <T>(schema: object): ValidateFunction<T> =>
  new Ajv({ ...ownSchemas, formats: { "date-time": (text: string) => parseTimestamp(text) !== undefined } }).compile<T>(
    schema,
  );
