/** Version numbers of libtorch, Python, Debian and Node.js: `1.13.0a0`, `2.11.0+cu130`, `1.13.1+dfsg-4`, `v20.20.2`. */

/** The leading numbers: `2.11.0+cu130` → [2, 11, 0]; a version without numbers → []. @param {string} version @returns {number[]} */
export function numbersOf(version) {
  const match = /\d+(?:\.\d+)*/.exec(version);
  return match ? match[0].split(".").map(Number) : [];
}

/** Whether `version` is `floor` or newer. @param {string} version @param {string} floor */
export function atLeast(version, floor) {
  const [have, need] = [numbersOf(version), numbersOf(floor)];
  for (let i = 0; i < need.length; i++) {
    const difference = (have[i] ?? 0) - need[i];
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** Whether two versions have the same first two numbers. The third can differ between the name of a package and its headers
 * (Debian's 1.13.1 calls itself 1.13.0). @param {string} a @param {string} b */
export function sameMinor(a, b) {
  const [x, y] = [numbersOf(a), numbersOf(b)];
  return x[0] === y[0] && (x[1] === undefined || y[1] === undefined || x[1] === y[1]);
}
