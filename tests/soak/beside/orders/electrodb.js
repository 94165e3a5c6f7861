const Order = new Entity({
  model: { entity: 'order', version: '1', service: 'shop' },
  attributes: {
    email: { type: 'string', required: true },
    number: { type: 'number', required: true, padding: { length: 6, char: '0' } },
    state: { type: 'string', default: 'open' },
  },
  indexes: {
    ofCustomer: {
      pk: { field: 'pk', composite: ['email'], template: 'customer#${email}' },
      sk: { field: 'sk', composite: ['number'], template: 'order#${number}' },
    },
    byState: {
      index: 'gsi1',
      pk: { field: 'gsi1pk', composite: ['state'], template: 'state#${state}' },
      sk: { field: 'gsi1sk', composite: ['number'], template: 'order#${number}' },
    },
  },
}, { table: 'shop', client });

await Order.create({ email: 'dan@example.org', number: 1 }).go();
await Order.patch({ email: 'dan@example.org', number: 1 }).set({ state: 'paid' })
  .where(({ state }, { eq }) => eq(state, 'open')).go();
const { data } = await Order.query.byState({ state: 'open' }).go();
