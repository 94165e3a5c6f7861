// DynamoDB-Toolbox: computed keys, its entity under `_et`, the times of the first and the last write under `_ct` and `_md`.
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import {
  $remove, $set, any, boolean, DeleteItemCommand, Entity, GetItemCommand, item, list, map, number, PutItemCommand, QueryCommand,
  ScanCommand, set, string, Table, UpdateItemCommand,
} from 'dynamodb-toolbox';

const line = map({ sku: string(), quantity: number() });
const pad = (value) => String(value).padStart(4, '0');
const iso = (value) => new Date(value).toISOString();
const instant = { toDB: iso, toRecord: (text) => new Date(text).getTime() };

export function open(client) {
  const table = new Table({
    name: 'toolbox', documentClient: DynamoDBDocumentClient.from(client),
    partitionKey: { name: 'PK', type: 'string' }, sortKey: { name: 'SK', type: 'string' },
    indexes: { GSI1: { type: 'global', partitionKey: { name: 'GSI1PK', type: 'string' }, sortKey: { name: 'GSI1SK', type: 'string' } } },
  });
  const entity = (name, schema, computeKey) => new Entity({ name, table, schema, computeKey });
  const key = (name) => string().optional().savedAs(name);
  const made = (name, attribute, text) => key(name)
    .putLink((input) => text(input)).updateLink((input) => (input[attribute] === undefined ? undefined : text(input)));
  const entities = {
    customer: entity('CUSTOMER', item({ id: string().key(), name: string(), email: string(), note: string().optional() }).and(() => ({
      gsi1pk: made('GSI1PK', 'email', ({ email }) => `EMAIL#${email.toLowerCase()}`), gsi1sk: made('GSI1SK', 'id', () => 'CUSTOMER'),
    })), ({ id }) => ({ PK: `CUSTOMER#${id}`, SK: `CUSTOMER#${id}` })),
    order: entity('ORDER', item({
      customer: string().key(), number: number().key(), status: string(), total: number().savedAs('t'), placed: string(),
      tags: set(string()).optional(),
    }).and(() => ({
      gsi1pk: made('GSI1PK', 'status', ({ status }) => `STATUS#${status}`),
      gsi1sk: made('GSI1SK', 'number', ({ number }) => `ORDER#${pad(number)}`),
    })), ({ customer, number }) => ({ PK: `CUSTOMER#${customer}`, SK: `ORDER#${pad(number)}` })),
    invoice: entity('INVOICE', item({
      customer: string().key(), number: number().key(), paid: boolean(), lines: list(line).optional(),
    }), ({ customer, number }) => ({ PK: `CUSTOMER#${customer}`, SK: `INVOICE#${number}` })),
    event: entity('EVENT', item({
      customer: string().key(), at: number().key(), id: string().key(), meta: any().optional(),
    }), ({ customer, at, id }) => ({ PK: `EVENTS#${customer}`, SK: `${at}#${id}` })),
    session: entity('SESSION', item({ token: string().key(), user: string(), expires: number() }), ({ token }) => ({ PK: `SESSION#${token}`, SK: 'SESSION' })),
    slot: entity('SLOT', item({
      day: string().key(), slot: number().key(), note: string().optional(),
    }), ({ day, slot }) => ({ PK: `DAY#${day}`, SK: `SLOT#${slot}` })),
  };
  const stored = (record) => {
    const given = { ...record };
    if (given.placed !== undefined) given.placed = instant.toDB(given.placed);
    if (given.tags !== undefined) given.tags = new Set(given.tags);
    return given;
  };
  const plain = (read) => {
    const { created, modified, entity, gsi1pk, gsi1sk, ...record } = read;
    if (record.placed !== undefined) record.placed = instant.toRecord(record.placed);
    if (record.tags !== undefined) record.tags = [...record.tags];
    return record;
  };
  return {
    put: async (kind, record) => void (await entities[kind].build(PutItemCommand).item(stored(record)).send()),
    get: async (kind, key) => {
      const { Item } = await entities[kind].build(GetItemCommand).key(key).send();
      return Item && plain(Item);
    },
    update: async (kind, key, values, removed) => {
      const gone = Object.fromEntries(removed.map((name) => [name, $remove()]));
      const whole = Object.entries(stored(values)).map(([name, value]) => [name, value.constructor === Set || typeof value !== 'object' ? value : $set(value)]);
      await entities[kind].build(UpdateItemCommand).item({ ...key, ...Object.fromEntries(whole), ...gone }).send();
    },
    delete: async (kind, key) => void (await entities[kind].build(DeleteItemCommand).key(key).send()),
    all: async (kind) => {
      const { Items } = await table.build(ScanCommand).entities(entities[kind]).options({ maxPages: Infinity }).send();
      return Items.map(plain);
    },
    by: async (kind, asked) => {
      const partition = kind === 'order' ? `STATUS#${asked.status}` : `EMAIL#${asked.email.toLowerCase()}`;
      const query = table.build(QueryCommand).entities(entities[kind]).query({ index: 'GSI1', partition });
      return (await query.options({ maxPages: Infinity }).send()).Items.map(plain);
    },
  };
}
