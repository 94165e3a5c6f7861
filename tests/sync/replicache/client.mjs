// One real Replicache client, told what to do by lines of JSON on standard input; each is answered by a line.
//
//   node client.mjs '{"name": "ada", "push": "http://.../push?project=p", "pull": "...", "auth": "token"}'
//
// Keeps its data in memory. Its mutators are those of the board of shapes and comments.

import {createInterface} from 'node:readline';
import {Replicache} from 'replicache';

const mutators = {
  put_shape: (tx, {id, shape}) => tx.set(`shapes/${id}`, shape),
  delete_shape: async (tx, {id}) => void (await tx.del(`shapes/${id}`)),
  async move_shape(tx, {id, x, y}) {
    const shape = await tx.get(`shapes/${id}`);
    if (shape !== undefined) await tx.set(`shapes/${id}`, {...shape, x, y});
  },
  put_comment: (tx, {id, comment}) => tx.set(`comments/${id}`, comment),
  delete_comment: async (tx, {id}) => void (await tx.del(`comments/${id}`)),
  rename: async (tx, {name}) => tx.set('project', {...(await tx.get('project')), name}),
  async clear_shapes(tx, said) {
    for (const key of await tx.scan({prefix: 'shapes/'}).keys().toArray()) {
      if (said?.kind === undefined || (await tx.get(key)).kind === said.kind) await tx.del(key);
    }
  },
};

const said = JSON.parse(process.argv[2]);
const events = {stateNotFound: 0, updateNeeded: [], authAsked: 0, errors: []};
let online = true;

const rep = new Replicache({
  name: said.name,
  schemaVersion: said.schemaVersion ?? '1',
  pushURL: said.push,
  pullURL: said.pull,
  auth: said.auth ?? '',
  kvStore: 'mem',
  pullInterval: said.pullInterval ?? null,
  pushDelay: said.pushDelay ?? 10,
  requestOptions: {minDelayMs: 20, maxDelayMs: said.maxDelayMs ?? 500},
  logLevel: 'error',
  logSinks: [{log: (level, _, ...words) => events.errors.push(`${level}: ${words.map(String).join(' ')}`)}],
  mutators,
});
rep.onClientStateNotFound = () => void events.stateNotFound++;
rep.onUpdateNeeded = reason => void events.updateNeeded.push(reason.type);
rep.getAuth = () => {
  events.authAsked++;
  return said.nextAuth ?? null;
};
for (const name of ['pusher', 'puller']) {
  const real = rep[name];
  rep[name] = async (body, id) => {
    if (!online) return {httpRequestInfo: {httpStatusCode: 0, errorMessage: 'offline'}};
    const result = await real(body, id);
    // A lower cookie comes from a database that is gone, or was put back: see docs/how-to/sync.md.
    const isLower = said.guarded && name === 'puller' && result.response?.cookie < (body.cookie ?? -1);
    return isLower ? {...result, response: {error: 'ClientStateNotFound'}} : result;
  };
}

const verbs = {
  ids: async () => ({client: rep.clientID, group: await rep.clientGroupID}),
  mutate: ({name, args}) => rep.mutate[name](args),
  mutate_undefined: ({name, args, member}) => rep.mutate[name]({...args, [member]: undefined}),
  pull: () => rep.pull({now: true}),
  push: () => rep.push({now: true}),
  pending: async () => (await rep.experimentalPendingMutations()).length,
  view: () => rep.query(async tx => Object.fromEntries(await tx.scan().entries().toArray())),
  online: async ({value}) => void (online = value),
  events: async () => events,
};

for await (const line of createInterface({input: process.stdin})) {
  const {verb, ...given} = JSON.parse(line);
  try {
    console.log(JSON.stringify({value: (await verbs[verb](given)) ?? null}));
  } catch (error) {
    console.log(JSON.stringify({error: String(error)}));
  }
}
await rep.close();
process.exit(0);
