// Real Replicache clients, told what to do by lines of JSON on standard input; each is answered by a line.
//
//   node client.mjs '{"name": "ada", "push": "http://.../push?project=p", "pull": "...", "auth": "token"}'
//
// Keeps their data in memory. The first client has the name ''; "open" makes another one, which lines name as "client".
// With "reloads" a client that is told to begin anew does as a page does: it closes, and opens on what its browser keeps.
// Their mutators are those of the board of shapes and comments.

import {createInterface} from 'node:readline';
import {Replicache} from 'replicache';
import {ReplicacheImpl} from 'replicache/impl';

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

class Client {
  online = true;
  events = {stateNotFound: 0, updateNeeded: [], authAsked: 0, errors: []};

  constructor(said) {
    this.said = said;
    this.open();
  }

  open() {
    const {said, events} = this;
    const rep = new (said.reloads ? ReplicacheImpl : Replicache)({
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
    this.rep = rep;
    let isTold = false;
    rep.onClientStateNotFound = () => {
      if (isTold && said.reloads) return; // by a push and a pull at once
      isTold = true;
      events.stateNotFound++;
      if (said.reloads) this.reopened = rep.close().then(() => this.open());
    };
    rep.onUpdateNeeded = reason => void events.updateNeeded.push(reason.type);
    rep.getAuth = () => {
      events.authAsked++;
      return said.nextAuth ?? null;
    };
    for (const name of ['pusher', 'puller']) {
      const real = rep[name];
      rep[name] = (body, id) =>
        this.online ? real(body, id) : {httpRequestInfo: {httpStatusCode: 0, errorMessage: 'offline'}};
    }
  }
}

const verbs = {
  ids: async ({rep}) => ({client: rep.clientID, group: await rep.clientGroupID}),
  // How often the client had been told to begin anew when it made this.
  async mutate({rep, events: {stateNotFound}}, {name, args}) {
    await rep.mutate[name](args);
    return stateNotFound;
  },
  mutate_undefined: ({rep}, {name, args, member}) => rep.mutate[name]({...args, [member]: undefined}),
  pull: ({rep}) => rep.pull({now: true}),
  push: ({rep}) => rep.push({now: true}),
  persist: ({rep}) => rep.persist(),
  pending: async ({rep}) => (await rep.experimentalPendingMutations()).length,
  view: ({rep}) => rep.query(async tx => Object.fromEntries(await tx.scan().entries().toArray())),
  online: async (client, {value}) => void (client.online = value),
  events: async ({events}) => events,
};

const clients = new Map([['', new Client(JSON.parse(process.argv[2]))]]);
for await (const line of createInterface({input: process.stdin})) {
  const {verb, client: name = '', ...given} = JSON.parse(line);
  if (verb === 'open') clients.set(name, new Client(given));
  const client = clients.get(name);
  await client.reopened;
  const {rep} = client;
  let answer;
  try {
    answer = {value: verb === 'open' ? null : ((await verbs[verb](client, given)) ?? null)};
  } catch (error) {
    await client.reopened;
    answer = client.rep === rep ? {error: String(error)} : {value: null}; // it was told, and closed, meanwhile
  }
  console.log(JSON.stringify(answer));
}
await Promise.all([...clients.values()].map(({rep}) => rep.close()));
process.exit(0);
