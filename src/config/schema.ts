import { Type } from "typebox";

export const strict = { additionalProperties: false } as const;
export const text = (description: string) => Type.String({ minLength: 1, description });
