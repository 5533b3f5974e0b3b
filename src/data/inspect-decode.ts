/** Decodes every picture of a dataset as training does, to find damaged files whose headers are valid. */
import { decodeFile, decodersAtOnce } from "./decode.js";

/** A picture that was not decoded correctly: its index in the list, and why. */
export interface BadPicture {
  readonly index: number;
  readonly kind: "broken" | "truncated" | "damaged";
  readonly what: string;
}

/** Decodes one picture; undefined if there is no problem. */
async function faultOf(path: string): Promise<Omit<BadPicture, "index"> | undefined> {
  try {
    const { truncated, damage } = await decodeFile(path, { shortSide: null, reportDamage: true });
    if (truncated) return { kind: "truncated", what: "is truncated: only a part can be decoded" };
    return damage === undefined
      ? undefined
      : { kind: "damaged", what: `parts of the picture may be wrong (${damage})` };
  } catch (error) {
    const { message } = (error as Error).cause instanceof Error ? ((error as Error).cause as Error) : (error as Error);
    return { kind: "broken", what: `cannot be decoded (${message.split("\n")[0]})` };
  }
}

/** Decodes pictures concurrently and returns those with problems, in order. */
export async function decodeFiles(paths: readonly string[], progress?: (done: number) => void): Promise<BadPicture[]> {
  const bad: BadPicture[] = [];
  let next = 0;
  let done = 0;
  async function work(): Promise<void> {
    for (let index = next++; index < paths.length; index = next++) {
      const fault = await faultOf(paths[index]);
      if (fault) bad.push({ index, ...fault });
      done++;
      if (done % 64 === 0) progress?.(done);
    }
  }
  await Promise.all(Array.from({ length: decodersAtOnce }, work));
  return bad.sort((a, b) => a.index - b.index);
}
