// OneTable: templates of keys, its model under `_type`, the times of the first and the last write as numbers.
import { Table } from 'dynamodb-onetable';

const text = { type: String, required: true };
const number = { type: Number, required: true };
const model = (pk, sk, attributes) => ({ pk: { type: String, value: pk }, sk: { type: String, value: sk }, ...attributes });
const index = (pk, sk) => ({ gs1pk: { type: String, value: pk }, gs1sk: { type: String, value: sk } });

export function open(client) {
  const models = {
    Customer: model('customer:${id}', 'customer:', {
      id: text, name: text, email: text, note: { type: String }, ...index('email:${email}', 'customer:'),
    }),
    Order: model('customer:${customer}', 'order:${number}', {
      customer: text, number, status: text, total: number, placed: { type: Date, required: true }, tags: { type: Set },
      ...index('status:${status}', 'order:${number}'),
    }),
    Invoice: model('customer:${customer}', 'invoice:${number}', {
      customer: text, number, paid: { type: Boolean, required: true }, lines: { type: Array },
    }),
    Event: model('event:${customer}', '${at}#${id}', { customer: text, at: number, id: text, meta: { type: Object } }),
    Session: model('${_type}#${token}', '${_type}#', { token: text, user: text, expires: { type: Date, ttl: true, required: true } }),
    Slot: model('day:${day}', 'slot:${slot}', { day: text, slot: number, note: { type: String } }),
  };
  const indexes = { primary: { hash: 'pk', sort: 'sk' }, gs1: { hash: 'gs1pk', sort: 'gs1sk', follow: false } };
  const params = { isoDates: false, timestamps: true };
  const schema = { format: 'onetable:1.1.0', version: '0.0.1', indexes, params, models };
  const table = new Table({ client, name: 'onetable', partial: true, schema });
  const named = (kind) => kind[0].toUpperCase() + kind.slice(1);
  const given = (record) => {
    const values = { ...record };
    if (values.placed !== undefined) values.placed = new Date(values.placed);
    if (values.expires !== undefined) values.expires = new Date(values.expires * 1000);
    if (values.tags !== undefined) values.tags = new Set(values.tags);
    return values;
  };
  const plain = ({ created, updated, ...record }) => {
    if (record.placed !== undefined) record.placed = record.placed.getTime();
    if (record.expires !== undefined) record.expires = record.expires.getTime() / 1000;
    if (record.tags !== undefined) record.tags = [...record.tags];
    return record;
  };
  return {
    put: async (kind, record) => void (await table.create(named(kind), given(record), { exists: null })),
    get: async (kind, key) => {
      const read = await table.get(named(kind), key);
      return read && plain(read);
    },
    update: async (kind, key, values, removed) => {
      const gone = Object.fromEntries(removed.map((name) => [name, null]));
      await table.update(named(kind), { ...key, ...given(values), ...gone });
    },
    delete: async (kind, key) => void (await table.remove(named(kind), key)),
    all: async (kind) => (await table.scan(named(kind))).map(plain),
    by: async (kind, asked) => (await table.find(named(kind), asked, { index: 'gs1' })).map(plain),
  };
}
