import { InvalidArgumentError } from "commander";

/** Parses an integer option within bounds. */
export const integer =
  (minimum: number, maximum: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`it must be a whole number from ${minimum} to ${maximum}`);
  };
