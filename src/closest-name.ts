/** Finds the known name that is closest to a mistyped one, for "did you mean" in errors. */

/** The number of edits (insertion, deletion, replacement, swap of neighbours) that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    before = row;
    row = next;
  }
  return row[b.length];
}

/** The known name closest to `name`, or undefined if none is close. */
export function closestName(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    const areAlike = distance < Math.max(2, name.length, candidate.length); // some letter is the same
    if (areAlike && distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** `unknown algorithm "emr": did you mean "erm"? (known: coral, erm, …)` */
export function unknownName(kind: string, name: string, known: Iterable<string>): string {
  const names = [...known].sort();
  const near = closestName(name, names);
  return `unknown ${kind} "${name}"${near ? `: did you mean "${near}"?` : ""} (known: ${names.join(", ")})`;
}
