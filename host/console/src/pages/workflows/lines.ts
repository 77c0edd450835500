/** Two texts side by side, line by line. */

export interface Row {
  left: string | null;
  right: string | null;
  isSame: boolean;
}

/** Beyond this many pairs of lines the middle is shown as wholly replaced: comparing it would take too long. */
const PAIRS = 4_000_000;

export function sideBySide(before: string, after: string): Row[] {
  const left = before === "" ? [] : before.split("\n");
  const right = after === "" ? [] : after.split("\n");
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) head += 1;
  let tail = 0;
  while (tail < left.length - head && tail < right.length - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail += 1;
  const same = (line: string): Row => ({ left: line, right: line, isSame: true });
  return [
    ...left.slice(0, head).map(same),
    ...middle(left.slice(head, left.length - tail), right.slice(head, right.length - tail)),
    ...left.slice(left.length - tail).map(same),
  ];
}

/** By the longest common subsequence; lines taken away and lines added at one place stand beside each other. */
function middle(left: readonly string[], right: readonly string[]): Row[] {
  const rows: Row[] = [];
  const taken: string[] = [];
  const added: string[] = [];
  const flush = () => {
    for (let place = 0; place < Math.max(taken.length, added.length); place += 1) {
      rows.push({ left: taken[place] ?? null, right: added[place] ?? null, isSame: false });
    }
    taken.length = 0;
    added.length = 0;
  };
  if (left.length * right.length > PAIRS) {
    taken.push(...left);
    added.push(...right);
    flush();
    return rows;
  }
  // common[i][j]: the length of what left from i on and right from j on have in common.
  const width = right.length + 1;
  const common = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = left[i] === right[j]
        ? common[(i + 1) * width + j + 1]! + 1
        : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  let i = 0;
  let j = 0;
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) {
      flush();
      rows.push({ left: left[i]!, right: right[j]!, isSame: true });
      i += 1;
      j += 1;
    } else if (common[(i + 1) * width + j]! >= common[i * width + j + 1]!) {
      taken.push(left[i]!);
      i += 1;
    } else {
      added.push(right[j]!);
      j += 1;
    }
  }
  taken.push(...left.slice(i));
  added.push(...right.slice(j));
  flush();
  return rows;
}
