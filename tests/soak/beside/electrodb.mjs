// ElectroDB: lower-cased keys, its entity and its version in each item.
import electrodb from 'electrodb';

const text = { type: 'string', required: true };
const number = { type: 'number', required: true };
const line = { type: 'map', properties: { sku: { type: 'string' }, quantity: { type: 'number' } } };
const key = (pk, sk) => ({ pk: { field: 'pk', composite: pk }, sk: { field: 'sk', composite: sk } });
const index = (pk, sk) => ({ index: 'gsi1', pk: { field: 'gsi1pk', composite: pk }, sk: { field: 'gsi1sk', composite: sk } });

export function open(client) {
  const entity = (name, attributes, indexes) =>
    new electrodb.Entity({ model: { entity: name, version: '1', service: 'Shop' }, attributes, indexes }, { table: 'electrodb', client });
  const entities = {
    customer: entity('Customer', { id: text, name: text, email: text, note: { type: 'string' } }, {
      main: key(['id'], []), by: index(['email'], []),
    }),
    order: entity('order', {
      customer: text, number, status: text, total: number, placed: number, tags: { type: 'set', items: 'string' },
    }, { main: key(['customer'], ['number']), by: index(['status'], ['number']) }),
    invoice: entity('invoice', {
      customer: text, number: { ...number, padding: { length: 8, char: '0' } }, paid: { type: 'boolean', required: true },
      lines: { type: 'list', items: line },
    }, { main: key(['customer'], ['number']) }),
    event: entity('event', { customer: text, at: number, id: text, meta: { type: 'any' } }, { main: key(['customer'], ['at', 'id']) }),
    session: entity('session', { token: text, user: text, expires: number }, { main: key(['token'], []) }),
    slot: entity('slot', { day: text, slot: number, note: { type: 'string' } }, {
      main: {
        pk: { field: 'pk', composite: ['day'], template: 'DAY#${day}', casing: 'none' },
        sk: { field: 'sk', composite: ['slot'], template: 'SLOT#${slot}', casing: 'none' },
      },
    }),
  };
  const all = { pages: 'all' };
  return {
    put: (kind, record) => entities[kind].put(record).go(),
    get: async (kind, key) => (await entities[kind].get(key).go()).data,
    update: async (kind, key, values, removed) => {
      let patch = entities[kind].patch(key);
      if (Object.keys(values).length) patch = patch.set(values);
      if (removed.length) patch = patch.remove(removed);
      await patch.go();
    },
    delete: (kind, key) => entities[kind].delete(key).go(),
    all: async (kind) => (await entities[kind].scan.go(all)).data,
    by: async (kind, asked) => (await entities[kind].query.by(asked).go(all)).data,
  };
}
