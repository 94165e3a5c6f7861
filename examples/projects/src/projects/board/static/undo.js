// Undo and redo, of what was done in this tab. Each mutation notes what it changed; to undo sends that the other way round
// (`revise`), which sets back only what still is as it was left here. What somebody else changed since stays theirs.

const MOST = 200;

/** The mutators, each of which returns its edits: {key, was, to}, of an object only the attributes that differ. */
export function noting(mutators) {
  const noted = {};
  for (const [name, mutator] of Object.entries(mutators)) {
    noted[name] = async (tx, args) => {
      const before = new Map();
      const note = async (key) => before.has(key) || before.set(key, (await tx.get(key)) ?? null);
      await mutator(
        {
          get: (key) => tx.get(key),
          set: async (key, value) => (await note(key), tx.set(key, value)),
          del: async (key) => (await note(key), tx.del(key)),
        },
        args,
      );
      const edits = [];
      for (const [key, was] of before) edits.push(...difference(key, was, (await tx.get(key)) ?? null));
      return edits;
    };
  }
  return noted;
}

/** The twin of `revise_draft`: makes each edit where the item is what it was. */
export async function revise(tx, { edits }) {
  for (const edit of edits) {
    const now = (await tx.get(edit.key)) ?? null;
    const becomes = revised(now, edit);
    if (becomes === null && now !== null) await tx.del(edit.key);
    else if (becomes !== null && !same(becomes, now)) await tx.set(edit.key, becomes);
  }
}

/** What can be undone and redone. `told({undo, redo})`: whether there is something; `kept(keys)`: what stayed theirs. */
export function makeUndo(replicache, { told, kept, mayRevise }) {
  const stacks = { undo: [], redo: [] };
  const tell = () => told({ undo: stacks.undo.length > 0, redo: stacks.redo.length > 0 });

  const push = (stack, edits) => {
    if (edits.length === 0) return;
    stacks[stack].push(edits);
    if (stacks[stack].length > MOST) stacks[stack].shift();
  };

  async function back(from, onto) {
    const edits = stacks[from].pop();
    tell();
    if (edits === undefined) return;
    const inverse = edits.map(({ key, was, to }) => ({ key, was: to, to: was })).reverse();
    const made = await replicache.mutate.revise({ edits: inverse });
    push(onto, made);
    tell();
    if (size(made) < size(inverse)) kept(inverse.map(({ key }) => key));
  }

  return {
    /** What a mutation changed: what was undone before can't be redone any more. */
    did(all) {
      const edits = all.filter(mayRevise);
      push('undo', edits);
      if (edits.length > 0) stacks.redo = [];
      tell();
    },
    undo: () => back('undo', 'redo'),
    redo: () => back('redo', 'undo'),
  };
}

export function revised(now, { was, to }) {
  if (!isObject(now) || !isObject(was) || !isObject(to)) return same(now, was) ? to : now;
  const made = { ...now };
  for (const name of Object.keys({ ...was, ...to })) {
    const stands = name in now && name in was ? same(now[name], was[name]) : !(name in now) && !(name in was);
    if (!stands) continue;
    if (name in to) made[name] = to[name];
    else delete made[name];
  }
  return made;
}

function difference(key, was, to) {
  if (same(was, to)) return [];
  if (!isObject(was) || !isObject(to)) return [{ key, was, to }];
  const parts = [{}, {}];
  for (const name of Object.keys({ ...was, ...to })) {
    if (name in was && name in to && same(was[name], to[name])) continue;
    if (name in was) parts[0][name] = was[name];
    if (name in to) parts[1][name] = to[name];
  }
  return [{ key, was: parts[0], to: parts[1] }];
}

/** How many attributes and items some edits change. */
const size = (edits) =>
  edits.reduce((sum, { was, to }) => sum + (isObject(was) && isObject(to) ? Object.keys({ ...was, ...to }).length : 1), 0);

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

function same(one, other) {
  if (one === null || other === null || typeof one !== 'object' || typeof other !== 'object') return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => name in other && same(one[name], other[name]));
}
